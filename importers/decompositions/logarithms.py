"""Logarithms, also of sums of exponentials, powers of 2, and the inverse hyperbolic functions."""

from __future__ import annotations

import math
from typing import Any

import torch

# The square of this number is finite in f64.
_LARGE = 1e150


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
    return _sum(x, y, torch.log1p(torch.exp(-(x - y).abs())))


def logaddexp2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns log2(2^x + 2^y), NaN where an operand is NaN."""
    return _sum(x, y, torch.log1p(torch.exp2(-(x - y).abs())) * (1 / math.log(2)))


def _sum(x: torch.Tensor, y: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    larger = torch.maximum(x, y)
    infinite = torch.logical_and(torch.eq(x, y), torch.isinf(larger))
    return torch.where(infinite, larger, larger + more)
