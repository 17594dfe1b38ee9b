"""Checks that eager's kernels make of their operands, before a call that stays as it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.assertions import require


def checked(check: Callable[..., None]) -> Callable[..., Any]:
    """A function that makes the check and leaves the call."""

    def function(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return NotImplemented

    return function


def probabilities(x: torch.Tensor, *_: Any, **__: Any) -> None:
    """Numbers from 0 to 1, not NaN."""
    require(torch.logical_and(torch.ge(x, 0), torch.le(x, 1)), "a probability is not in 0 to 1")


def places_in_plane(x: torch.Tensor, places: torch.Tensor, size: list[int], *_: Any) -> None:
    """Indices of elements of a plane of that size."""
    inside = torch.logical_and(torch.ge(places, 0), torch.lt(places, math.prod(size)))
    require(inside, "max_unpool has an index outside of its output")


def weights_of_categories(weights: torch.Tensor) -> None:
    """Finite numbers, not negative, of which each row has one that is positive."""
    # NaN and infinity are not below infinity.
    valid = torch.logical_and(torch.ge(weights, 0), torch.lt(weights, torch.inf))
    require(valid, "multinomial has a weight that is negative, infinite or NaN")
    require(torch.gt(weights.sum(-1), 0), "multinomial has weights that are all zero")
