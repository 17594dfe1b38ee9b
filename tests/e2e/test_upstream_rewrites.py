"""Tests edge cases of `--upstream-only` on the reference runner, compared with eager."""

import pytest
import torch
from torch.utils._pytree import tree_leaves

import unmess

NAN, INF = float("nan"), float("inf")
SPECIAL = torch.tensor([3.0, NAN, 1.0, INF, NAN, -1.0, 1.0, 1.0, -INF, 0.0])
TIES = torch.tensor([[1.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 1.0], [0.0, 1.0, 1.0]])


def check(function, args, dynamic_shapes=None, calls=()):
    """Compares the rewritten module with eager for `args`, and at other sizes for `calls`."""
    program = unmess.capture(function, args, dynamic_shapes=dynamic_shapes)
    module = unmess.lower(program, upstream_only=True)
    assert "tm_tensor" in str(unmess.lower(program)) and "tm_tensor" not in str(module)
    run = unmess.load(module)
    for call in (args, *calls):
        for ours, theirs in zip(tree_leaves(run(*call)), tree_leaves(function(*call)), strict=True):
            torch.testing.assert_close(ours, theirs, equal_nan=True)


ROWS = torch.export.Dim("rows", max=64)
COLUMNS = torch.export.Dim("columns", max=64)


def test_nan_and_infinity_in_a_sort():
    """Compares values only, since a plain `sort` is not stable."""

    def function(x):
        return torch.sort(x, dim=0).values, torch.sort(x, dim=-2, descending=True).values

    check(function, (SPECIAL[:, None],))


@pytest.mark.parametrize("descending", [False, True])
def test_a_sort_that_is_stable_at_any_size(descending):
    calls = [(torch.randint(0, 4, (rows, 2)).float(),) for rows in (0, 2, 3, 8, 9, 33)]

    def function(x):
        return torch.sort(x, dim=0, descending=descending, stable=True)

    check(function, (TIES[:, :2],), ({0: ROWS},), [*calls, (TIES[:, 1:],)])


def test_sorts_without_elements():
    x = torch.zeros(0, 3)
    check(lambda x: (x.sort(0), x.sort(1), x[:, 0].sort(), x.sum(0, True).sort(0)), (x,))


def test_the_largest_of_a_row():
    x = torch.stack([torch.randperm(9).float() for _ in range(3)])
    check(lambda x: (x.topk(3, -1), x.topk(9, 1, largest=False)), (x,))


def test_the_kth_value_along_either_axis():
    x = torch.randperm(21).float().reshape(3, 7)
    check(lambda x: (x.kthvalue(5, -1), x.kthvalue(1, 0)), (x,))


def test_scans_at_any_size():
    x = torch.randn(4, 3, 2)
    calls = [(torch.randn(2, 1, 2),), (torch.zeros(0, 5, 2),), (torch.full((3, 2, 2), NAN),)]

    def function(x):
        return x.cumsum(-2), x.cumprod(0), x.logcumsumexp(-1), (x > 0).cumsum(1)

    check(function, (x,), ({0: ROWS, 1: COLUMNS},), calls)


def test_repeated_indices():
    index = torch.tensor([[0, 0, 0], [4, 1, 4], [1, 1, 1]])

    def function(x, index, updates):
        def scatter(reduce, **options):
            return x.scatter_reduce(-1, index, updates, reduce, **options)

        kept = [scatter(each) for each in ("sum", "prod", "amax", "amin", "mean")]
        return kept, scatter("mean", include_self=False), scatter("amax", include_self=False)

    check(function, (torch.randn(3, 5), index, torch.randn(3, 3)))


def test_any_number_of_updates():
    """Covers no updates, negative indices, and the same row many times."""
    x = torch.randn(3, 4)

    def function(x, places, rows):
        return x.index_put((places,), rows, accumulate=True), x.index_add(0, places + 3, rows)

    args = x, torch.tensor([-1, -3, -1, -2]), torch.randn(4, 4)
    calls = [(x, torch.zeros(0, dtype=torch.int64) - 1, torch.zeros(0, 4))]
    check(function, args, ({}, {0: ROWS}, {0: ROWS}), calls)


def test_boolean_inputs_and_results():
    def function(mask, x):
        return mask.logical_not(), (x > 0) & mask, mask.cumsum(0) > 1

    args = torch.tensor([True, False, True]), torch.tensor([1.0, 2.0, -1.0])
    check(function, args)
    module = unmess.lower(unmess.capture(function, args), upstream_only=True)
    assert any("boolean inputs" in str(note) for note in module.notes)


def test_an_index_out_of_range_is_still_an_error():
    program = unmess.capture(
        lambda x, places: x.index_put((places,), torch.ones(2)),
        (torch.zeros(3), torch.tensor([0, 1])),
    )
    run = unmess.load(unmess.lower(program, upstream_only=True))
    with pytest.raises(unmess.Error, match="out of range"):
        run(torch.zeros(3), torch.tensor([0, 3]))
