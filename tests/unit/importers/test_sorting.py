"""Compares sorting by rank with eager PyTorch."""

import pytest
import torch

from importers.decompositions.sorting import sort_integers, sort_stably

TIES = torch.tensor([[3.0, 1.0, 2.0, 1.0], [0.0, 0.0, -1.0, 0.0]])
SPECIAL = torch.tensor([1.0, float("nan"), float("inf"), -float("inf"), float("nan"), 0.0])


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("x", [TIES, TIES.to(torch.int64), SPECIAL, torch.empty(0, 3)])
@pytest.mark.parametrize("dim", [0, -1])
def test_sort_keeps_equal_elements_in_their_order(x, dim, descending):
    values, order = torch.sort(x, dim=dim, descending=descending, stable=True)
    actual = sort_stably(x, dim=dim, descending=descending)
    assert torch.equal(actual[1], order)
    torch.testing.assert_close(actual[0], values, rtol=0, atol=0, equal_nan=True)


def test_sort_integers_skips_long_and_float_tensors():
    long = torch.arange(5000).flip(0)
    assert sort_integers(long) is NotImplemented
    assert sort_integers(TIES) is NotImplemented
    assert torch.equal(sort_stably(long)[0], torch.sort(long)[0])
    assert torch.equal(sort_integers(TIES.to(torch.int64))[1], torch.sort(TIES, stable=True)[1])
