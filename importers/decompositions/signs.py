"""Signs of numbers: read, and put on other numbers."""

from __future__ import annotations

import math
from typing import Any

import torch


def sign(x: torch.Tensor) -> Any:
    """-1, 0 or 1 of floating-point `x`, 0 of NaN; others are left."""
    if not x.is_floating_point():
        return NotImplemented
    return torch.gt(x, 0.0).to(x.dtype) - torch.lt(x, 0.0).to(x.dtype)


def signbit(x: torch.Tensor) -> torch.Tensor:
    """Whether a number is negative, -0.0 too; NaN counts as positive. Elementwise, bool."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    return (x < 0) | (1 / x < 0) if x.is_floating_point() else x < 0


def copysign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`x` with the signs of `y`, of which NaN counts as positive."""
    return _signed(x, signbit(y), torch.result_type(x, y))


def copysign_of_number(x: torch.Tensor, number: float) -> torch.Tensor:
    """`x` with the sign of a number."""
    negative = torch.full((), math.copysign(1, number) < 0)
    return _signed(x, negative, torch.result_type(x, number))


def _signed(x: torch.Tensor, negative: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    size = x.to(dtype).abs()
    return torch.where(negative, -size, size)
