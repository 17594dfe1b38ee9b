"""Division to whole numbers, and remainders."""

from __future__ import annotations

from typing import Any

import torch


def divide(x: torch.Tensor, y: Any, *, rounding_mode: str | None) -> Any:
    """`x / y` elementwise, in floating point rounded down; other modes and integers are left."""
    return floor_divide(x, y) if rounding_mode == "floor" else NotImplemented


def floor_divide(x: torch.Tensor, y: Any) -> Any:
    """As Python divides floating-point numbers; integers are left.

    The quotient is that of the exact division rounded down, which the rounded quotient rounded
    down is not: 1 // 0.1 is 9.
    """
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    # As eager's kernels compute.
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x, y = x.to(wide), _tensor(y, dtype).to(wide)
    rest = torch.fmod(x, y)
    exact = (x - rest) / y
    below = torch.logical_and(torch.ne(rest, 0), torch.ne(rest < 0, y < 0))
    exact = torch.where(below, exact - 1, exact)
    whole = torch.floor(exact)
    whole = torch.where(exact - whole > 0.5, whole + 1, whole)
    whole = torch.where(torch.ne(exact, 0), whole, exact)
    return torch.where(torch.ne(y, 0), whole, x / y).to(dtype)


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
    return torch.where(x < 0, -rest, rest)


def _tensor(y: Any, dtype: torch.dtype) -> torch.Tensor:
    return y.to(dtype) if isinstance(y, torch.Tensor) else torch.full((), y, dtype=dtype)
