"""Operators on the bits of floating-point numbers."""

from __future__ import annotations

import torch

_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def nextafter(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the next number from `x` toward `y`, or `y` where both are equal."""
    dtype = torch.result_type(x, y)
    x, y = torch.broadcast_tensors(x.to(dtype), y.to(dtype))
    kind = _BITS[dtype.itemsize]
    bits, goal = x.contiguous().view(kind), y.contiguous().view(kind)
    place, end = _place(bits), _place(goal)
    # Compare as integers: some hardware treats subnormal numbers as zeros.
    moved = torch.where(torch.lt(place, end), place + 1, place - 1)
    least = torch.iinfo(kind).min
    result = torch.where(moved < 0, least - moved, moved)
    # The zero next to a negative number is negative.
    result = torch.where(torch.logical_and(torch.eq(moved, 0), bits < 0), least, result)
    result = torch.where(torch.eq(place, end), goal, result).view(dtype)
    return torch.where(torch.logical_or(torch.isnan(x), torch.isnan(y)), torch.nan, result)


def _place(bits: torch.Tensor) -> torch.Tensor:
    """Maps bits to integers in the order of the numbers; 0 for both zeros."""
    return torch.where(bits < 0, torch.iinfo(bits.dtype).min - bits, bits)


def frexp(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the mantissa, from 0.5 to 1, and the exponent (i32) of each number.

    Zeros, infinities and NaN are their own mantissas, with the exponent 0.
    """
    wide = x.to(torch.float64)
    subnormal = torch.logical_and(wide.abs() < 2.0**-1022, torch.ne(wide, 0))
    bits = torch.where(subnormal, wide * 2.0**54, wide).view(torch.int64)
    field = (bits >> 52) & 0x7FF
    exponent = field - 1022 - torch.where(subnormal, 54, 0)
    mantissa = ((bits & ~(0x7FF << 52)) | (1022 << 52)).view(torch.float64)
    plain = torch.logical_or(torch.eq(wide, 0), ~(wide.abs() < torch.inf))
    return (
        torch.where(plain, wide, mantissa).to(x.dtype),
        torch.where(plain, 0, exponent).to(torch.int32),
    )
