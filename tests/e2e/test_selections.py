"""Selections of the first elements of sorted rows, on both runners."""

import pytest
import torch

import unmess

NAN, INF = torch.nan, torch.inf
DTYPES = (torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int8, torch.uint8)
DIM = torch.export.Dim


def _numbers(*sizes):
    """Returns random numbers with equal elements, zeros of both signs, NaN and infinities."""
    x = torch.randint(-9, 9, sizes).float()
    flat = x.view(-1)
    flat[:: max(len(flat) // 12, 1)][:6] = torch.tensor([NAN, INF, -INF, -0.0, 0.0, NAN])[
        : len(flat[:: max(len(flat) // 12, 1)][:6])
    ]
    return x[..., torch.randperm(sizes[-1])]


def _orders(length):
    """Returns rows that are sorted, reversed, equal, NaN, or that NaN follows."""
    ascending = torch.arange(float(length))
    behind = torch.where(ascending > length // 2, NAN, ascending)
    rows = (ascending, ascending.flip(0), ascending * 0, ascending * NAN, behind, behind.flip(0))
    return torch.stack(rows)


def _assert_selected(run, select, x, dim):
    """Checks the values of a selection, and that its indices select them."""
    values, places = run(x)
    expected = select(x)[0]
    assert torch.equal(values.nan_to_num(7777.0), expected.nan_to_num(7777.0))
    chosen = x.gather(dim, places.reshape(expected.shape)) if expected.dim() == x.dim() else None
    if chosen is not None:
        assert torch.equal(chosen.nan_to_num(7777.0), expected.nan_to_num(7777.0))
        if places.numel():
            ordered = places.sort(dim)[0]
            assert not torch.eq(ordered.diff(dim=dim), 0).any(), "an element is selected twice"


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_topk(runner, largest):
    for k, length in ((1, 2), (1, 100), (5, 6), (5, 5), (5, 600), (23, 256), (60, 300000)):
        x = (
            _numbers(length)
            if length > 10**5
            else torch.stack([*_orders(length), _numbers(length)])
        )

        def select(x, k=k):
            return x.topk(k, -1, largest)

        run = unmess.load(unmess.capture(select, (x,)), on=runner)
        _assert_selected(run, select, x, -1)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_axes_and_dtypes(runner):
    for dtype in DTYPES:
        x = _numbers(3, 40, 5).nan_to_num() if not dtype.is_floating_point else _numbers(3, 40, 5)

        def select(x):
            first = x.topk(4, 1)
            return first, x[..., 0].topk(1, 0, False), x.transpose(0, 1)[2].topk(3, 1)

        x = x.to(dtype)
        results = unmess.load(unmess.capture(select, (x,)), on=runner)(x)
        for (values, _), (expected, _) in zip(results, select(x), strict=True):
            torch.testing.assert_close(values, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_dynamic_sizes(runner):
    def select(x):
        return x.topk(8, 1)

    sizes = ({0: DIM("a"), 1: DIM("b", min=8)},)
    program = unmess.capture(select, (_numbers(4, 30),), dynamic_shapes=sizes)
    run = unmess.load(program, on=runner)
    for rows, length in ((1, 8), (5, 9), (2, 5000), (700, 100)):
        _assert_selected(run, select, _numbers(rows, length), 1)
    with pytest.raises(unmess.Error):
        run(_numbers(2, 7))


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_stable_parts_of_sorts(runner):
    """The order of equal elements is that of the whole sort, in sums of parts, too."""

    def select(x):
        values, places = torch.ops.aten.sort.default(x, 1)
        best = torch.ops.aten.sort.default(x, 1, True)
        return values[:, :9], places[:, 2:7:2], best[1][:, :1], x.kthvalue(5, 1)[0]

    x = torch.stack([*_orders(300), *_numbers(5, 300)])
    results = unmess.load(unmess.capture(select, (x,)), on=runner)(x)
    values, places = x.sort(dim=1, stable=True)
    best = x.sort(dim=1, stable=True, descending=True)[1]
    expected = values[:, :9], places[:, 2:7:2], best[:, :1], values[:, 4]
    for result, right in zip(results, expected, strict=True):
        torch.testing.assert_close(result, right, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_threads(runner):
    """Threads share the rows of large sorts and selections, along each axis."""

    def select(x):
        return x.topk(5, 1), x.topk(5, 2), x.sort(1), x.sort(2), x.topk(5, 0)

    x = torch.randperm(6 * 96 * 256).reshape(6, 96, 256).float()
    results = unmess.load(unmess.capture(select, (x,)), on=runner)(x)
    for result, expected in zip(results, select(x), strict=True):
        for part, right in zip(result, expected, strict=True):
            assert torch.equal(part, right)
