"""Sorts, indexed elements, extremes and dynamic sizes at TOSA and StableHLO match eager PyTorch."""

import functools
import math

import pytest
import torch
from output_dialects import OUTPUT_DIALECTS, RUNNERS, assert_matches

import unmess


@pytest.fixture(params=RUNNERS)
def runner(request):
    return request.param


@pytest.fixture(params=OUTPUT_DIALECTS)
def dialect(request):
    return request.param


def special(*shape):
    """Returns normal numbers of which some are equal, infinite or NaN."""
    x = torch.randn(shape)
    for first, number in enumerate((math.inf, math.nan, -math.inf, 0.5)):
        x.view(-1)[first::9] = number
    return x


@functools.cache
def sorts():
    def function(x, i, long):
        return (
            *(x.sort(0, descending=True), x.sort(1), x.topk(2), x.half().sort(1)),
            *(i.sort(1, descending=True), i.topk(3, largest=False)[0], long.sort(stable=True)),
        )

    args = (special(4, 6), torch.randint(-3, 3, (4, 6)), special(300))
    return unmess.capture(function, args)


@functools.cache
def sorts_of_dynamic_rows():
    def function(x, i):
        return x.sort(1, descending=True), i.sort(1), i.argsort(dim=1).argsort(dim=1)

    args = (special(4, 6), torch.randint(-3, 3, (4, 6)))
    return unmess.capture(function, args, dynamic_shapes=["x.0=rows:2..9", "i.0=rows"])


@pytest.mark.parametrize("program", [sorts, sorts_of_dynamic_rows])
def test_sorts(program, dialect, runner):
    assert_matches(program(), dialect, runner)


@functools.cache
def products():
    def function(x, i):
        return x.cumprod(0), x.cumprod(1), i.cumprod(1), x.half().cumprod(1)

    return unmess.capture(function, (torch.randn(4, 6), torch.randint(-3, 3, (4, 6))))


def test_cumulative_products(dialect, runner):
    assert_matches(products(), dialect, runner)


class IndexedElements(torch.nn.Module):
    """Additions to, and reductions and replacements of, elements with repeated indices."""

    def forward(self, x, y, i, rows, places, values):
        reductions = [
            x.scatter_reduce(0, places, y, name, include_self=include_self)
            for name in ("sum", "prod", "mean", "amax", "amin")
            for include_self in (True, False)
        ]
        some = places[:3]
        return (
            *reductions,
            *(i.scatter_reduce(0, some, i, name) for name in ("sum", "prod", "amax", "amin")),
            *(x.scatter_add(0, some, y), i.to(torch.int8).scatter_add(0, some, i.to(torch.int8))),
            x.index_add(0, rows.abs() % 4, values),
            x.index_fill(0, rows.abs() % 4, 3.0),
            # More indices than rows: the last value of a row stays.
            x.index_put((rows,), values),
            x.index_put((rows, rows + 1), values[:, 0], accumulate=True),
            x.index_put((torch.arange(4)[:, None], rows), values[:4, :1], accumulate=True),
        )


@functools.cache
def indexed_elements():
    places, rows = torch.randint(0, 4, (4, 6)), torch.randint(-4, 3, (9,))
    i = torch.randint(-9, 9, (4, 6))
    args = (special(4, 6), special(4, 6), i, rows, places, special(9, 6))
    return unmess.capture(IndexedElements(), args)


def test_indexed_elements(dialect, runner):
    assert_matches(indexed_elements(), dialect, runner)


@functools.cache
def infinities():
    def function(x):
        rows = x, x.half(), x.bfloat16(), x.double()
        pool = torch.nn.functional.max_pool2d
        return (
            *(row.amax(1) for row in rows),
            *(row.amin(1) for row in rows),
            *(x.max(1), x.min(1), x.argmax(1), x.argmin(1), x.logsumexp(1)),
            *(pool(x[None], (1, 2)), pool(x[None], 2, 1, 1)),
        )

    inf, largest = math.inf, torch.finfo(torch.float32).max
    rows = [[-inf, -inf], [inf, inf], [-inf, -largest], [inf, largest], [math.nan, -inf]]
    return unmess.capture(function, (torch.tensor(rows),))


def test_extremes_of_infinities(dialect, runner):
    assert_matches(infinities(), dialect, runner)


class DynamicBatch(torch.nn.Module):
    """Operators on a batch of dynamic size that torch-mlir does not lower to TOSA."""

    def __init__(self):
        super().__init__()
        self.token = torch.nn.Parameter(torch.randn(1, 1, 6))
        self.register_buffer("mask", torch.tensor([[True, False, True]]))
        self.cell = torch.nn.LSTMCell(6, 4)
        self.convolution = torch.nn.Conv1d(4, 6, 3, stride=2, padding=1)

    def forward(self, x):
        batch = x.shape[0]
        tokens = torch.cat([self.token.expand(batch, -1, -1), x], 1)
        rows = tokens[:, 1]
        image = torch.nn.functional.unfold(x[:, None], 2)
        return (
            *(tokens, torch.stack([x, -x]), torch.cat([rows, self.token[0]])),
            *(x[:, ::2, 1::3], x.roll(2, 2), x[:, [0, -1]], x[:, :, [[0, 5], [2, 1]]], image),
            *(self.mask.expand(batch, 3), torch.zeros(batch, 2), torch.full((batch, 2), 7)),
            *(rows[:, :1].expand(-1, 3), torch.outer(rows[:, 0], torch.ones(3)).repeat(1, 2)),
            *(x.cumsum(1), x.index_select(2, torch.tensor([5, 0, 5])), self.cell(rows)),
            *(self.convolution(x), torch.nn.functional.interpolate(x, size=9)),
        )


@functools.cache
def dynamic_batch():
    return unmess.capture(DynamicBatch(), (special(3, 4, 6),), dynamic_shapes=["x.0"])


class DynamicSteps(torch.nn.Module):
    """Rows of a dynamic batch are replaced, also in a loop."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(6, 4, batch_first=True)

    def forward(self, x):
        steps = x.transpose(0, 1)
        return self.lstm(x), steps.index_put((torch.tensor([2, -4]),), 2 * steps[1:3])


@functools.cache
def dynamic_steps():
    return unmess.capture(DynamicSteps(), (torch.randn(3, 4, 6),), dynamic_shapes=["x.0"])


@pytest.mark.parametrize("program", [dynamic_batch, dynamic_steps])
def test_dynamic_batch(program, dialect, runner):
    report = unmess.check(program(), on=runner, via=dialect)
    assert report.ok, report.error


@functools.cache
def constants_of_dynamic_size():
    def function(x):
        return torch.zeros_like(x), torch.full((x.shape[0], 2), 85.0), -torch.zeros(x.shape[0])

    return unmess.capture(function, (torch.randn(3, 4),), dynamic_shapes=["x.0"])


def test_constants_of_dynamic_size(dialect, runner):
    run = unmess.load(unmess.lower(constants_of_dynamic_size(), to=dialect), on=runner)
    zeros, numbers, negative = run(torch.randn(5, 4))
    assert zeros.shape == (5, 4) and not zeros.any() and not zeros.signbit().any()
    assert torch.equal(numbers, torch.full((5, 2), 85.0))
    assert negative.shape == (5,) and not negative.any() and negative.signbit().all()


def test_empty_slice_of_dynamic_size(runner):
    """To roll a single row, an empty slice is joined to it."""

    def function(x):
        return x.roll(1, 0)

    rows = ["x.0=rows:1..9"]
    program = unmess.capture(function, (torch.randn(3, 4),), dynamic_shapes=rows)
    run = unmess.load(unmess.lower(program, to="stablehlo"), on=runner)
    for count in (1, 2, 5):
        x = torch.randn(count, 4)
        assert torch.equal(run(x), function(x))


@functools.cache
def dynamic_rows():
    def function(x):
        return x.cumsum(1), (x > 0).cumsum(1), x.cumprod(0), x.sort(1), x.sort(1, descending=True)

    return unmess.capture(function, (torch.randn(3, 5),), dynamic_shapes=["x.1"])


def test_sums_and_sorts_of_rows_of_dynamic_size(runner):
    """TOSA cannot compute the places of the elements."""
    report = unmess.check(dynamic_rows(), on=runner, via="stablehlo")
    assert report.ok, report.error


@functools.cache
def top_k_and_repeat():
    def function(x):
        return x.topk(2), x.sort(0, descending=True), x.argsort()[:, :2], x.repeat(2, 1, 2)

    return unmess.capture(function, (torch.randn(4, 6),))


def test_top_k_and_repeat_at_stablehlo(runner):
    """IREE recognizes the top-k of StableHLO, and fails for its 64-bit indices."""
    assert_matches(top_k_and_repeat(), "stablehlo", runner)
