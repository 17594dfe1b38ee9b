"""Operators on the bits of elements, and elements as another dtype."""

from __future__ import annotations

from typing import Any

import torch

_INTEGERS = {8: torch.uint8, 16: torch.int16, 32: torch.int32, 64: torch.int64}


def view_dtype(x: torch.Tensor, dtype: torch.dtype) -> Any:
    """Returns `x.view(dtype)`, whose last dimension changes with the width of the dtype.

    A wide element consists of narrow elements with the lowest bits first. Returns NotImplemented
    for two different dtypes of the same width, unless one is complex or boolean.
    """
    if x.dtype == dtype:
        return x.clone()
    if x.is_complex():
        parts = torch.view_as_real(x).flatten(-2)
        return parts if parts.dtype == dtype else parts.view(dtype)
    if dtype.is_complex:
        real = dtype.to_real()
        parts = x if x.dtype == real else x.view(real)
        return torch.view_as_complex(parts.reshape(*parts.shape[:-1], parts.shape[-1] // 2, 2))
    if x.dtype == torch.bool:
        return x.to(torch.uint8).view(dtype)
    if dtype == torch.bool:
        # Eager keeps bytes other than 0 and 1, which booleans elsewhere cannot hold.
        return torch.ne(x.view(torch.uint8), 0)
    given, wanted = 8 * x.dtype.itemsize, 8 * dtype.itemsize
    if given == wanted:
        return NotImplemented
    words = x if x.dtype == _INTEGERS[given] else x.view(_INTEGERS[given])
    words = words.to(torch.int64)
    if given > wanted:
        shifts = torch.arange(0, given, wanted)
        parts = torch.bitwise_right_shift(words.unsqueeze(-1), shifts) & ((1 << wanted) - 1)
        result = parts.flatten(-2)
    else:
        count = wanted // given
        words = words.reshape(*words.shape[:-1], words.shape[-1] // count, count)
        shifts = torch.arange(0, wanted, given)
        result = torch.bitwise_left_shift(words & ((1 << given) - 1), shifts).sum(-1)
    result = result.to(_INTEGERS[wanted])
    return result if result.dtype == dtype else result.view(dtype)


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
