"""Logarithms, powers of 2, and the inverse hyperbolic functions that are made of them."""

from __future__ import annotations

import math
from typing import Any

import torch

# Its square is finite in f64.
_LARGE = 1e150


def log10(x: torch.Tensor) -> Any:
    """The logarithm to the base of 10 by the natural one in f64; of f64 it is left."""
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    return (torch.log(x.double()) * (1 / math.log(10))).to(_result_type(x))


def exp2(x: torch.Tensor) -> Any:
    """2 to the power of each number by e, computed in f64; f64 is left."""
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    return torch.exp(x.double() * math.log(2)).to(_result_type(x))


def asinh(x: torch.Tensor) -> Any:
    """The inverse hyperbolic sine, computed in f64; complex numbers are left."""
    if x.is_complex():
        return NotImplemented
    wide = x.double()
    size = wide.abs()
    square = size * size
    # log(size + √(size² + 1)), with all digits next to zero.
    result = torch.log1p(size + square / (1 + torch.sqrt(square + 1)))
    result = torch.where(size > _LARGE, torch.log(size) + math.log(2), result)
    signed = torch.where(wide < 0, -result, torch.where(torch.eq(size, 0), wide, result))
    return signed.to(_result_type(x))


def acosh(x: torch.Tensor) -> Any:
    """The inverse hyperbolic cosine by the logarithm in f64; of f64 it is left."""
    if x.dtype == torch.float64 or x.is_complex():
        return NotImplemented
    wide = x.double()
    return torch.log(wide + torch.sqrt(wide - 1) * torch.sqrt(wide + 1)).to(_result_type(x))


def _result_type(x: torch.Tensor) -> torch.dtype:
    return x.dtype if x.is_floating_point() else torch.get_default_dtype()
