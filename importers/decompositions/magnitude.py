"""Magnitudes and signs that are taken apart and put together."""

from __future__ import annotations

import math

import torch


def hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """√(x² + y²) elementwise; neither square overflows, and infinity outweighs NaN."""
    dtype = torch.result_type(x, y)
    x, y = x.to(torch.float64).abs(), y.to(torch.float64).abs()
    if dtype == torch.float64:
        larger, smaller = torch.maximum(x, y), torch.minimum(x, y)
        ratio = torch.where(larger == 0, larger, smaller / larger)
        length = larger * torch.sqrt(1 + ratio * ratio)
    else:
        length = torch.sqrt(x * x + y * y)
    infinite = (x == math.inf) | (y == math.inf)
    return torch.where(infinite, math.inf, length).to(dtype)


def signbit(x: torch.Tensor) -> torch.Tensor:
    """Whether a number is negative, -0.0 too; NaN counts as positive. Elementwise, bool."""
    if x.dtype == torch.bool:
        return torch.zeros_like(x)
    return (x < 0) | (1 / x < 0) if x.is_floating_point() else x < 0


def copysign(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`x` with the signs of `y`, of which NaN counts as positive."""
    return _signed(x, signbit(y), torch.result_type(x, y))


def copysign_of_number(x: torch.Tensor, number: float) -> torch.Tensor:
    """`x` with the sign of a number."""
    negative = torch.full((), math.copysign(1, number) < 0)
    return _signed(x, negative, torch.result_type(x, number))


def _signed(x: torch.Tensor, negative: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    size = x.to(dtype).abs()
    return torch.where(negative, -size, size)


def distance(x: torch.Tensor, y: torch.Tensor, p: float = 2) -> torch.Tensor:
    """The p-norm of `x - y`, of no dimensions."""
    return torch.linalg.vector_norm(x - y, p)
