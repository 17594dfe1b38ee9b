"""Branches that raise an exception for some data become checks in the program."""

from __future__ import annotations

import pytest
import torch

import unmess
from unmess.core.errors.error import Error


class Sizes(torch.nn.Module):
    """Raises depending on the size of a selection, and on the elements of a tensor."""

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        if y is not None and x[x > 0].numel() != y.numel():
            raise ValueError("not as many positive numbers")
        if not (x < 7).all():
            message = f"too large: {x.shape}"
            raise ValueError(message)
        return x + y[0]


class Either(torch.nn.Module):
    """Raises if one of two conditions holds."""

    def forward(self, x: torch.Tensor, y: torch.Tensor):
        if x[0] > 3 or not x[1] > 0:
            raise ValueError
        return x + y[0]


class Distribution(torch.nn.Module):
    """Creates a distribution, which validates its arguments. Other code may change the default."""

    def forward(self, x: torch.Tensor):
        return torch.distributions.Normal(0.0, x, validate_args=True).entropy()


@pytest.mark.parametrize(
    ("model", "good", "bad"),
    [
        (Sizes(), ([1.0, 2.0, -1.0], [2.0, 3.0]), [([1.0, -2.0, -1.0], [2.0, 3.0])]),
        (Sizes(), ([1.0, 2.0, -1.0], [2.0, 3.0]), [([1.0, 9.0, -1.0], [2.0, 3.0])]),
        (Either(), ([1.0, 2.0], [1.0]), [([4.0, 2.0], [1.0]), ([1.0, 0.0], [1.0])]),
        (Distribution(), ([1.0, 2.0],), [([1.0, -2.0],)]),
    ],
)
def test_branch_that_raises_is_a_check(model, good, bad):
    args = tuple(map(torch.tensor, good))
    program = unmess.capture(model, args)
    assert program.strategy == "non-strict"
    run = unmess.load(program, on="reference")
    torch.testing.assert_close(run(*args), model(*args))
    for call in bad:
        wrong = tuple(map(torch.tensor, call))
        with pytest.raises(ValueError):
            model(*wrong)
        with pytest.raises(Error, match="a check in the program failed"):
            run(*wrong)


class Caught(torch.nn.Module):
    """Catches the exception, so that the branch does not end the call."""

    def forward(self, x: torch.Tensor):
        try:
            if x[0] > 3:
                raise ValueError
        except ValueError:
            return x
        return x + 1


class NotTheLast(torch.nn.Module):
    """Has a second condition that also decides."""

    def forward(self, x: torch.Tensor):
        if x[0] > 3 and x[1] > 3:
            raise ValueError
        return x + 1


@pytest.mark.parametrize("model", [Caught(), NotTheLast()])
def test_other_branches_are_no_checks(model):
    with pytest.raises(Error, match="cannot capture") as caught:
        unmess.capture(model, (torch.ones(2),), strategy="non-strict")
    assert "depends on values" in caught.value.hint
