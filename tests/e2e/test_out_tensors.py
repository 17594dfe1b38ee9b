"""Tests that operators with `out=`, often a view, give eager's shapes and values."""

import pytest
import torch
from torch.utils import _pytree as pytree

import unmess


def into(shape, view, operator):
    """Returns a function that writes to a view and returns the result and the whole tensor."""

    def function(x):
        whole = torch.zeros(shape, dtype=x.dtype) + x[0]
        return operator(x, view(whole)), whole

    return function


def row(whole):
    return whole[1:4]


def square(whole):
    return whole[:2, :2]


CASES = {
    "arange": into(5, row, lambda x, out: torch.arange(3, out=out)),
    "arange with steps": into(5, lambda w: w[::2], lambda x, out: torch.arange(3, out=out)),
    "arange to a matrix": into((2, 3), lambda w: w, lambda x, out: torch.arange(6, out=out)),
    "arange to a square": into((3, 3), square, lambda x, out: torch.arange(4, out=out)),
    "arange to a larger type": into(
        (3, 3), square, lambda x, out: torch.arange(0.5, 4, out=out.float())
    ),
    "linspace to a square": into((3, 3), square, lambda x, out: torch.linspace(0, 3, 4, out=out)),
    "logspace to a square": into((3, 3), square, lambda x, out: torch.logspace(0, 3, 4, out=out)),
    "arange to nothing": into(0, lambda w: w, lambda x, out: torch.arange(3, out=out)),
    "add": into(5, row, lambda x, out: torch.add(x[:3], 1, out=out)),
    "sum": into(5, lambda w: w[2], lambda x, out: torch.sum(x, 0, out=out)),
    "cat": into(5, row, lambda x, out: torch.cat([x[:2], x[:1]], out=out)),
    "mm": into((3, 3), lambda w: w.t(), lambda x, out: torch.mm(x[:, None], x[None], out=out)),
    "full": into((3, 3), square, lambda x, out: torch.full((2, 2), 7, out=out)),
    "eye": into((3, 3), square, lambda x, out: torch.eye(2, out=out)),
    "gather": into(3, lambda w: w, lambda x, out: torch.gather(x, 0, x * 0, out=out)),
    "cumsum": into((3, 2), lambda w: w.t()[0], lambda x, out: torch.cumsum(x + 1, 0, out=out)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_in_eager(name):
    x = torch.tensor([0, 1, 2])
    expected = CASES[name](x)
    results = unmess.load(unmess.capture(CASES[name], (x,)))(x)
    for ours, theirs in zip(*map(pytree.tree_leaves, (results, expected)), strict=True):
        torch.testing.assert_close(ours, theirs)
