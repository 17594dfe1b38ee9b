"""Comparisons with numbers of the tensor's own kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def with_number_of_its_kind(compare: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """A comparison of `x` with a number: a float, where `x` is floating point.

    Everything else is left: NotImplemented.
    """

    def comparison(x: torch.Tensor, number: float) -> Any:
        if x.is_floating_point() and isinstance(number, int):
            return compare(x, float(number))
        return NotImplemented

    return comparison
