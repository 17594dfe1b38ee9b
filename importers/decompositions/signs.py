"""Signs of numbers, and comparisons of booleans with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def sign(x: torch.Tensor) -> Any:
    """-1, 0 or 1 of floating-point `x`, 0 of NaN; others are left."""
    if not x.is_floating_point():
        return NotImplemented
    return torch.gt(x, 0.0).to(x.dtype) - torch.lt(x, 0.0).to(x.dtype)


def of_numbers(compare: Callable[[torch.Tensor, Any], torch.Tensor]) -> Callable[..., Any]:
    """A comparison with a number, of booleans as numbers; others are left."""

    def compared(x: torch.Tensor, number: Any) -> Any:
        if x.dtype != torch.bool or isinstance(number, bool):
            return NotImplemented
        return compare(x.to(torch.result_type(x, number)), number)

    return compared
