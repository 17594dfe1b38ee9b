"""Cyclic shifts of elements along dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols


def roll(x: torch.Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> torch.Tensor:
    """Rolls `x` by any number of positions; without `dims`, in row-major order."""
    if not dims:
        return roll(x.reshape(-1), shifts, (0,)).reshape(x.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = x.shape[dim]
        if not isinstance(size, int):
            return NotImplemented
        if isinstance(shift, torch.SymInt) and free_unbacked_symbols(shift):
            x = _roll_by_data(x, shift, dim) if size else x
            continue
        if size and shift % size:
            cut = size - shift % size
            x = torch.cat([x.narrow(dim, cut, size - cut), x.narrow(dim, 0, cut)], dim)
    return x


def _roll_by_data(x: torch.Tensor, shift: torch.SymInt, dim: int) -> torch.Tensor:
    size = x.shape[dim]
    # The difference of the index and the shift itself might overflow.
    shift = torch.remainder(torch.scalar_tensor(shift, dtype=torch.int64), size)
    return x.index_select(dim, torch.remainder(torch.arange(size) - shift, size))
