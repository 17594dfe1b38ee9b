"""Positions of elements along a dimension."""

from __future__ import annotations

import torch


def positions_along(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns 0, 1, 2, … along `dim`, i64, in a shape that broadcasts to that of `x`."""
    dim = dim % x.dim()
    return torch.arange(x.shape[dim]).reshape([-1] + [1] * (x.dim() - dim - 1))
