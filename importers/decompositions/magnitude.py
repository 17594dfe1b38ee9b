"""Lengths of vectors, and distances between them."""

from __future__ import annotations

import math

import torch


def hypot(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns √(x² + y²) elementwise; neither square overflows, and infinity outweighs NaN."""
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


def distance(x: torch.Tensor, y: torch.Tensor, p: float = 2) -> torch.Tensor:
    """Returns the p-norm of `x - y`, without dimensions."""
    return torch.linalg.vector_norm(x - y, p)
