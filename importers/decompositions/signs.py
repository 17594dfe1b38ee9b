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


_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def signbit(x: torch.Tensor) -> torch.Tensor:
    """Whether a number is negative, -0.0 and NaN with its sign set too. Elementwise, bool."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    return (x.view(_BITS[x.dtype.itemsize]) if x.is_floating_point() else x) < 0


def is_negative(x: torch.Tensor) -> torch.Tensor:
    """As `signbit` of floating-point `x`, by arithmetic, which TOSA has; NaN counts as positive."""
    return (x < 0) | (1 / x < 0)


def copysign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`x` with the signs of `y`."""
    return _signed(x, signbit(y), torch.result_type(x, y))


def copysign_of_number(x: torch.Tensor, number: float) -> torch.Tensor:
    """`x` with the sign of a number."""
    negative = torch.full((), math.copysign(1, number) < 0)
    return _signed(x, negative, torch.result_type(x, number))


def _signed(x: torch.Tensor, negative: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    # Arithmetic on a NaN may lose its sign.
    kind = _BITS[dtype.itemsize]
    limits = torch.iinfo(kind)
    bits = x.to(dtype).view(kind)
    return torch.where(negative, bits | limits.min, bits & limits.max).view(dtype)
