"""Reciprocals, rounding division, remainders, common divisors and multiples."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.linear_algebra.loops import repeat
from importers.decompositions.numbers import as_tensor


def divide(x: torch.Tensor, y: Any, *, rounding_mode: str | None) -> Any:
    """Returns `x / y` elementwise, rounded down; NotImplemented for other modes."""
    return floor_divide(x, y) if rounding_mode == "floor" else NotImplemented


def divide_integers(x: Any, y: Any) -> Any:
    """Returns `x / y` for integers or booleans and a real number; NotImplemented for others."""
    is_number = not isinstance(y, torch.Tensor) and not isinstance(y, complex)
    if not is_number or x.is_floating_point() or x.is_complex():
        return NotImplemented
    return torch.div(x.to(torch.get_default_dtype()), y)


def floor_divide(x: Any, y: Any) -> Any:
    """Returns `x // y` as in Python, or NotImplemented for booleans.

    For floating point, this is the exact quotient rounded down. To round down the rounded quotient
    would be wrong: 1 // 0.1 is 9.
    """
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return _floor_of_integers(as_tensor(x, dtype), as_tensor(y, dtype))
    # Follow the dtypes and steps of eager's kernels.
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    x = as_tensor(x, dtype).to(wide)
    # A divisor without dimensions is not rounded to f16 or bf16.
    is_number = not isinstance(y, torch.Tensor) or not y.dim()
    y = as_tensor(y, wide if is_number else dtype).to(wide)
    rest = torch.fmod(x, y)
    exact = (x - rest) / y
    below = torch.logical_and(torch.ne(rest, 0), torch.ne(rest < 0, y < 0))
    exact = torch.where(below, exact - 1, exact)
    whole = torch.floor(exact)
    whole = torch.where(exact - whole > 0.5, whole + 1, whole)
    # A zero has the sign of the quotient, whose magnitude is at most 1 here.
    whole = torch.where(torch.ne(exact, 0), whole, x / y * 0)
    return torch.where(torch.ne(y, 0), whole, x / y).to(dtype)


def _floor_of_integers(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Rounds the quotient of integers down; NotImplemented for booleans.

    Floating point cannot hold all 64 bits, and does not fail for a divisor of 0.
    """
    if x.dtype == torch.bool:
        return NotImplemented
    quotient = torch.div(x, y, rounding_mode="trunc")
    if not x.dtype.is_signed:
        return quotient
    rest = x - quotient * y
    below = torch.logical_and(torch.ne(rest, 0), torch.ne(rest < 0, y < 0))
    return torch.where(below, quotient - 1, quotient)


def fmod(x: torch.Tensor, y: Any) -> Any:
    """Returns the exact remainder of division rounded toward zero, with the sign of `x`.

    Returns NotImplemented for two integer tensors.
    """
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        # torch-mlir lowers fmod of two integer tensors.
        if isinstance(y, torch.Tensor):
            return NotImplemented
        return torch.fmod(x.to(dtype), as_tensor(y, dtype))
    x = x.to(dtype)
    rest = torch.remainder(x.abs(), as_tensor(y, dtype).abs())
    zero = torch.logical_and(torch.eq(x, 0), torch.eq(rest, 0))
    return torch.where(x < 0, -rest, torch.where(zero, x, rest))


def remainder(x: Any, y: Any) -> Any:
    """Returns the remainder. Converts numbers to tensors. NotImplemented for booleans."""
    dtype = torch.result_type(x, y)
    if dtype == torch.bool:
        return NotImplemented
    return torch.remainder(as_tensor(x, dtype), as_tensor(y, dtype))


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """Returns 1 divided by `x`: infinite at zeros, floating point for integers.

    Returns NotImplemented for complex `x`.
    """
    return NotImplemented if x.is_complex() else torch.div(1, x)


def gcd(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the greatest common divisors of integers, by Euclid's algorithm; 0 of two zeros."""
    dtype = torch.result_type(a, b)
    wide = torch.promote_types(dtype, torch.int32)
    small, large = torch.broadcast_tensors(a.to(dtype).abs().to(wide), b.to(dtype).abs().to(wide))

    def step(_k, small, large):
        done = small == 0
        remainder = torch.fmod(large, torch.where(done, 1, small))
        return torch.where(done, small, remainder), torch.where(done, large, small)

    return repeat(_rounds(dtype), step, (small, large))[1].to(dtype)


def lcm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns the least common multiples of integers; 0 if one of them is 0."""
    dtype = torch.result_type(a, b)
    wide = torch.promote_types(dtype, torch.int32)
    a, b = a.to(dtype).to(wide), b.to(dtype).to(wide)
    divisor = gcd(a, b)
    factor = torch.div(a, torch.where(divisor == 0, 1, divisor), rounding_mode="trunc")
    return torch.where(divisor == 0, 0, (factor * b).abs()).to(dtype)


def _rounds(dtype: torch.dtype) -> int:
    """Returns the maximum number of steps of Euclid's algorithm, which Fibonacci numbers need."""
    golden = (1 + math.sqrt(5)) / 2
    return math.ceil(torch.iinfo(dtype).bits * math.log(2, golden)) + 1
