"""Powers, logarithms, and the inverse hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from importers.decompositions.signs import is_negative


def integer_power(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """Returns `x` to the power of a number.

    Whole powers of integers are repeated multiplications; other powers of integers are computed in
    floating point. For floating-point `x`, only negative whole exponents and roots are supported.
    Other calls return NotImplemented.
    """
    if x.is_complex():
        return NotImplemented
    if x.is_floating_point():
        # Eager's kernel computes roots, which differ from C's pow for -0 and -inf. Its kernel for
        # float16 calls C's pow, but backends expand that to roots.
        if exponent in (0.5, -0.5):
            if x.dtype == torch.float16:
                return powers(x, torch.full((), exponent, dtype=x.dtype))
            root = torch.sqrt(x)
            return root if exponent > 0 else torch.reciprocal(root)
        # IREE returns -inf for 0 to a negative number.
        is_inverse = exponent < 0 and float(exponent).is_integer()
        return torch.reciprocal(torch.pow(x, -exponent)) if is_inverse else NotImplemented
    if not isinstance(exponent, int):
        return torch.pow(x.to(torch.result_type(x, exponent)), exponent)
    if exponent < 0:
        return NotImplemented
    x = x.to(torch.result_type(x, exponent))
    result, square = torch.ones_like(x), x
    while exponent:
        if exponent % 2:
            result = result * square
        exponent //= 2
        if exponent:
            square = square * square
    return result


def powers(x: torch.Tensor, exponent: torch.Tensor) -> Any:
    """Returns `x` to `exponent`, elementwise; NotImplemented for f64 and complex numbers."""
    dtype = torch.result_type(x, exponent)
    if dtype.is_complex or dtype == torch.float64:
        return NotImplemented
    if dtype.is_floating_point:
        return _floating_powers(x.double(), exponent.double()).to(dtype)
    return _integer_powers(x, exponent, dtype)


def _floating_powers(x: torch.Tensor, exponent: torch.Tensor) -> torch.Tensor:
    """Computes powers by the logarithm of the magnitude in f64.

    Signs, zeros and infinities follow the rules of C.
    """
    size = x.abs()
    result = torch.exp(exponent * torch.log(size))
    is_number = torch.eq(exponent, exponent)
    result = torch.where(torch.logical_and(torch.eq(size, 1), is_number), 1.0, result)
    whole = torch.eq(torch.floor(exponent), exponent)
    odd = torch.logical_and(whole, torch.ne(torch.floor(exponent / 2), exponent / 2))
    result = torch.where(torch.logical_and(is_negative(x), odd), -result, result)
    no_root = torch.logical_and(torch.logical_and(x < 0, size < torch.inf), ~whole)
    result = torch.where(no_root, torch.nan, result)
    return torch.where(torch.logical_or(torch.eq(exponent, 0), torch.eq(x, 1)), 1.0, result)


def _integer_powers(x: torch.Tensor, exponent: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns `x` to the power of integers, elementwise; the result wraps around.

    For negative exponents, the result is 1 or -1 for 1 and -1, and 0 for other numbers.
    """
    x, exponent = x.to(dtype), exponent.to(dtype)
    odd = torch.ne(exponent & 1, 0)
    result, square = torch.where(odd, x, 1), x
    limits = torch.iinfo(dtype)
    for bit in range(1, limits.max.bit_length()):
        square = square * square
        result = torch.where(torch.ne(exponent & (1 << bit), 0), result * square, result)
    if limits.min == 0:
        return result
    # A square that wraps around may also be 1, such as that of -127 in int8.
    is_unit = torch.logical_or(torch.eq(x, 1), torch.eq(x, -1))
    inverse = torch.where(torch.logical_and(torch.eq(x, -1), odd), -1, is_unit.to(dtype))
    return torch.where(exponent < 0, inverse, result)


def powers_of_a_number(x: float, exponent: torch.Tensor) -> Any:
    """Returns a number to the power of integers, or a negative number to floating point.

    Returns NotImplemented for other calls.
    """
    if exponent.is_complex() or isinstance(x, complex):
        return NotImplemented
    if exponent.is_floating_point():
        return (
            powers(torch.full((), x, dtype=exponent.dtype), exponent) if x < 0 else NotImplemented
        )
    dtype = torch.result_type(x, exponent)
    return torch.pow(torch.full((), x, dtype=dtype), exponent.to(dtype))


# The square of this number is finite in f64.
_LARGE = 1e150


def ldexp(x: torch.Tensor, exponent: torch.Tensor) -> Any:
    """Returns `x` times 2 to the power of `exponent`; NotImplemented for complex numbers."""
    if x.is_complex() or exponent.is_complex():
        return NotImplemented
    # In eager, a power of 2 in f32, the default dtype, takes the dtype of a narrower exponent.
    is_other = x.is_floating_point() and x.dtype != torch.float32
    two = torch.full((), 2.0, dtype=x.dtype) if is_other else 2.0
    return x * torch.pow(two, exponent)


def log10(x: torch.Tensor) -> Any:
    """Returns the logarithm to base 10, by the natural one in f64.

    Returns NotImplemented for f64 and complex numbers.
    """
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    return (torch.log(x.double()) * (1 / math.log(10))).to(_result_type(x))


def exp2(x: torch.Tensor) -> Any:
    """Returns 2 to the power of each number, by exp in f64.

    Returns NotImplemented for f64 and complex numbers.
    """
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    return torch.exp(x.double() * math.log(2)).to(_result_type(x))


def asinh(x: torch.Tensor) -> Any:
    """Returns the inverse hyperbolic sine, computed in f64; NotImplemented for complex numbers."""
    if x.is_complex():
        return NotImplemented
    wide = x.double()
    size = wide.abs()
    square = size * size
    # log(size + √(size² + 1)), accurate next to zero.
    result = torch.log1p(size + square / (1 + torch.sqrt(square + 1)))
    result = torch.where(size > _LARGE, torch.log(size) + math.log(2), result)
    signed = torch.where(wide < 0, -result, torch.where(torch.eq(size, 0), wide, result))
    return signed.to(_result_type(x))


def cosh(x: torch.Tensor) -> Any:
    """Returns the hyperbolic cosine of f16, computed in f32; NotImplemented for other dtypes."""
    return torch.cosh(x.float()).half() if x.dtype == torch.float16 else NotImplemented


def acosh(x: torch.Tensor) -> Any:
    """Returns the inverse hyperbolic cosine, by the logarithm in f64.

    Returns NotImplemented for f64 and complex numbers.
    """
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    wide = x.double()
    return torch.log(wide + torch.sqrt(wide - 1) * torch.sqrt(wide + 1)).to(_result_type(x))


def _result_type(x: torch.Tensor) -> torch.dtype:
    return x.dtype if x.is_floating_point() else torch.get_default_dtype()


def logaddexp(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns log(e^x + e^y), NaN where an operand is NaN; NotImplemented for complex numbers."""
    if x.is_complex() or y.is_complex():
        return NotImplemented
    return _sum(x, y, lambda gap: torch.log1p(torch.exp(-gap)))


def logaddexp2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns log2(2^x + 2^y), NaN where an operand is NaN."""
    return _sum(x, y, lambda gap: torch.log1p(torch.exp2(-gap)) * (1 / math.log(2)))


def _sum(
    x: torch.Tensor, y: torch.Tensor, excess: Callable[[torch.Tensor], torch.Tensor]
) -> torch.Tensor:
    """Returns the maximum plus `excess` of the difference; f16 and bf16 are computed in f32."""
    dtype = torch.result_type(x, y)
    wide = dtype if dtype == torch.float64 else torch.float32
    x, y = x.to(wide), y.to(wide)
    larger = torch.maximum(x, y)
    infinite = torch.logical_and(torch.eq(x, y), torch.isinf(larger))
    return torch.where(infinite, larger, larger + excess((x - y).abs())).to(dtype)
