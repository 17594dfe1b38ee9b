"""Cyclic shifts of elements along dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """Rolls `x` by any number of positions; without `dims`, in row-major order."""
    if not dims:
        return roll(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if not isinstance(size, int):
            return NotImplemented
        if size and shift % size:
            cut = size - shift % size
            x = torch.cat([x.narrow(dim, cut, size - cut), x.narrow(dim, 0, cut)], dim)
    return x
