"""Signs and angles of numbers, negation, and rounding toward zero."""

from __future__ import annotations

import math
from typing import Any

import torch


def sign(x: torch.Tensor) -> Any:
    """Returns -1, 0 or 1 for floating-point `x`, 0 for NaN; NotImplemented for other types."""
    if not x.is_floating_point():
        return NotImplemented
    return torch.gt(x, 0.0).to(x.dtype) - torch.lt(x, 0.0).to(x.dtype)


_BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def signbit(x: torch.Tensor) -> torch.Tensor:
    """Returns whether the sign of a number is set, also for -0.0 and NaN. Elementwise, bool."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    return (x.view(_BITS[x.dtype.itemsize]) if x.is_floating_point() else x) < 0


def is_negative(x: torch.Tensor) -> torch.Tensor:
    """Returns `signbit` of floating-point `x`, but NaN counts as positive.

    It uses arithmetic, which TOSA has.
    """
    return (x < 0) | (1 / x < 0)


def copysign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns `x` with the signs of `y`."""
    return _signed(x, signbit(y), torch.result_type(x, y))


def copysign_of_number(x: torch.Tensor, number: float) -> torch.Tensor:
    """Returns `x` with the sign of a number."""
    negative = torch.full((), math.copysign(1, number) < 0)
    return _signed(x, negative, torch.result_type(x, number))


def _signed(x: torch.Tensor, negative: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    # Change bits, since arithmetic on a NaN may lose its sign.
    kind = _BITS[dtype.itemsize]
    limits = torch.iinfo(kind)
    bits = x.to(dtype).view(kind)
    return torch.where(negative, bits | limits.min, bits & limits.max).view(dtype)


def neg(x: torch.Tensor) -> Any:
    """Returns `-x` for integers, and NotImplemented for others."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    return torch.zeros((), dtype=x.dtype) - x


def neg_view(x: torch.Tensor) -> torch.Tensor:
    """Returns `-x` as a value, not as a view."""
    return torch.neg(x)


def trunc(x: torch.Tensor) -> Any:
    """Returns floating-point `x` rounded toward zero, -0 for -0; NotImplemented for integers."""
    if not x.is_floating_point():
        return NotImplemented
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))


def atan2(y: torch.Tensor, x: torch.Tensor) -> Any:
    """Returns the angle of (x, y), from -π to π, or NotImplemented for f64.

    Zeros and infinities give the same results as in C.
    """
    dtype = torch.result_type(x, y)
    if dtype == torch.float64:
        return NotImplemented
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    x, y = x.to(torch.float32), y.to(torch.float32)
    width, height = x.abs(), y.abs()
    steep = math.pi / 2 - torch.atan(width / height)
    angle = torch.where(width >= height, torch.atan(height / width), steep)
    same = torch.eq(width, height)
    # 0 / 0 and ∞ / ∞ are NaN, so set the angle for them.
    angle = torch.where(torch.logical_and(same, torch.eq(width, 0)), 0.0, angle)
    angle = torch.where(torch.logical_and(same, torch.isinf(width)), math.pi / 4, angle)
    angle = torch.where(is_negative(x), math.pi - angle, angle)
    return torch.where(is_negative(y), -angle, angle).to(dtype)


def angle(x: torch.Tensor) -> Any:
    """Returns π for negative numbers, 0 for others, NaN for NaN; NotImplemented if complex."""
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    turned = torch.lt(x, 0).to(dtype) * math.pi
    return torch.where(torch.isnan(x), x, turned) if x.is_floating_point() else turned
