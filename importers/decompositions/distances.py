"""Lengths of vectors, and distances between vectors and rows."""

from __future__ import annotations

import math
from typing import Any

import torch


def between(x: torch.Tensor, y: torch.Tensor, p: float, compute_mode: int | None) -> torch.Tensor:
    """Returns the p-norm of each row of `x` `[..., n, k]` minus each row of `y` `[..., m, k]`."""
    return _norm(x.unsqueeze(-2) - y.unsqueeze(-3), p)


def within(x: torch.Tensor, p: float = 2) -> Any:
    """Returns the p-norm of each row of `x` `[n, k]` minus each row after it, as one vector.

    Returns NotImplemented if the number of rows is unknown.
    """
    count = x.shape[0]
    if not isinstance(count, int):
        return NotImplemented
    if count < 2:
        return torch.zeros((0,), dtype=x.dtype)
    first, second = torch.triu_indices(count, count, 1)
    return _norm(x.index_select(0, first) - x.index_select(0, second), p)


def _norm(difference: torch.Tensor, p: float) -> torch.Tensor:
    if difference.shape[-1] == 0:
        return torch.zeros(difference.shape[:-1], dtype=difference.dtype)
    if p == 0:
        # Eager counts rounded magnitudes, so NaN makes the count NaN.
        counted = torch.where(torch.isnan(difference), difference, torch.ne(difference, 0))
        return counted.to(difference.dtype).sum(-1)
    if p == 1:
        return difference.abs().sum(-1)
    if p == math.inf:
        return difference.abs().amax(-1)
    return torch.linalg.vector_norm(difference, p, -1)


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
