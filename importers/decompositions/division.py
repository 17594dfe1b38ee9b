"""Division to whole numbers, and remainders."""

from __future__ import annotations

from typing import Any

import torch


def divide(x: torch.Tensor, y: Any, *, rounding_mode: str | None) -> Any:
    """`x / y` elementwise, rounded down; other modes are left."""
    return floor_divide(x, y) if rounding_mode == "floor" else NotImplemented


def floor_divide(x: torch.Tensor, y: Any) -> Any:
    """As Python divides; booleans are left.

    In floating point the quotient is that of the exact division rounded down, which the rounded
    quotient rounded down is not: 1 // 0.1 is 9.
    """
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return _floor_of_integers(x.to(dtype), _tensor(y, dtype))
    # As eager's kernels compute.
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x, y = x.to(wide), _tensor(y, dtype).to(wide)
    rest = torch.fmod(x, y)
    exact = (x - rest) / y
    below = torch.logical_and(torch.ne(rest, 0), torch.ne(rest < 0, y < 0))
    exact = torch.where(below, exact - 1, exact)
    whole = torch.floor(exact)
    whole = torch.where(exact - whole > 0.5, whole + 1, whole)
    # 0 with the sign of the quotient, which is at most 1 here.
    whole = torch.where(torch.ne(exact, 0), whole, x / y * 0)
    return torch.where(torch.ne(y, 0), whole, x / y).to(dtype)


def _floor_of_integers(x: torch.Tensor, y: torch.Tensor) -> Any:
    """In integers: floating point holds not all of 64 bits, and no error for a divisor of 0."""
    if x.dtype == torch.bool:
        return NotImplemented
    quotient = torch.div(x, y, rounding_mode="trunc")
    if not x.dtype.is_signed:
        return quotient
    rest = x - quotient * y
    below = torch.logical_and(torch.ne(rest, 0), torch.ne(rest < 0, y < 0))
    return torch.where(below, quotient - 1, quotient)


def fmod(x: torch.Tensor, y: Any) -> Any:
    """The remainder of `x / y` rounded towards zero: exact, with the sign of `x`."""
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        # Of two integer tensors there is a lowering.
        if isinstance(y, torch.Tensor):
            return NotImplemented
        return torch.fmod(x.to(dtype), _tensor(y, dtype))
    x = x.to(dtype)
    rest = torch.remainder(x.abs(), _tensor(y, dtype).abs())
    zero = torch.logical_and(torch.eq(x, 0), torch.eq(rest, 0))
    return torch.where(x < 0, -rest, torch.where(zero, x, rest))


def remainder(x: torch.Tensor, y: Any) -> Any:
    """The remainder of integers by a number, as that by a tensor; others are left."""
    dtype = torch.result_type(x, y)
    if dtype.is_floating_point or dtype == torch.bool:
        return NotImplemented
    return torch.remainder(x.to(dtype), _tensor(y, dtype))


def _tensor(y: Any, dtype: torch.dtype) -> torch.Tensor:
    return y.to(dtype) if isinstance(y, torch.Tensor) else torch.full((), y, dtype=dtype)
