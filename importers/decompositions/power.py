"""Powers of integers, and to them."""

from __future__ import annotations

from typing import Any

import torch

_LARGEST = 64


def integer_power(x: torch.Tensor, exponent: float) -> torch.Tensor:
    """Integers to a whole number by repeated multiplication, to others in floating point."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    if not isinstance(exponent, int):
        return torch.pow(x.to(torch.result_type(x, exponent)), exponent)
    if not 0 <= exponent <= _LARGEST:
        return NotImplemented
    result, square = torch.ones_like(x), x
    while exponent:
        if exponent % 2:
            result = result * square
        exponent //= 2
        if exponent:
            square = square * square
    return result


def integer_powers(x: torch.Tensor, exponent: torch.Tensor) -> Any:
    """`x` to integers, elementwise, wrapping; anything else is left.

    To a negative one 1 and -1 stay what they are, or become 1; other numbers become 0.
    """
    dtype = torch.result_type(x, exponent)
    if dtype.is_floating_point or dtype.is_complex:
        return NotImplemented
    x, exponent = x.to(dtype), exponent.to(dtype)
    odd = torch.ne(exponent & 1, 0)
    result, square = torch.where(odd, x, 1), x
    limits = torch.iinfo(dtype)
    for bit in range(1, limits.max.bit_length()):
        square = square * square
        result = torch.where(torch.ne(exponent & (1 << bit), 0), result * square, result)
    if limits.min == 0:
        return result
    inverse = torch.where(torch.logical_and(torch.eq(x, -1), odd), -1, torch.eq(x * x, 1).to(dtype))
    return torch.where(exponent < 0, inverse, result)


def powers_of_a_number(x: float, exponent: torch.Tensor) -> Any:
    """A number to integers; floating-point and complex exponents are left."""
    if exponent.is_floating_point() or exponent.is_complex() or isinstance(x, complex):
        return NotImplemented
    dtype = torch.result_type(x, exponent)
    return torch.pow(torch.full((), x, dtype=dtype), exponent.to(dtype))
