"""Operand checks of eager's kernels, for calls that are not decomposed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.assertions import require


def checked(check: Callable[..., None]) -> Callable[..., Any]:
    """Returns a decomposition that inserts the check and keeps the call."""

    def function(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return NotImplemented

    return function


def require_probabilities(x: torch.Tensor, *_: Any, **__: Any) -> None:
    """Requires numbers from 0 to 1, not NaN."""
    require(torch.logical_and(torch.ge(x, 0), torch.le(x, 1)), "a probability is not from 0 to 1")


def require_indices_in_plane(
    x: torch.Tensor, places: torch.Tensor, size: list[int], *_: Any
) -> None:
    """Requires indices of elements of a plane of `size`."""
    inside = torch.logical_and(torch.ge(places, 0), torch.lt(places, math.prod(size)))
    require(inside, "max_unpool has an index outside of its output")


def require_category_weights(weights: torch.Tensor) -> None:
    """Requires finite weights that are not negative, at least one of them positive in each row."""
    # NaN and infinity are not less than infinity.
    valid = torch.logical_and(torch.ge(weights, 0), torch.lt(weights, torch.inf))
    require(valid, "multinomial has a weight that is negative, infinite or NaN")
    require(torch.gt(weights.sum(-1), 0), "multinomial has weights that are all zero")
