"""Concatenation, padding and cyclic shifts of elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols


def concatenate(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    """Concatenates tensors of several dtypes, or tensors that have no elements along `dim`.

    The result has the promoted dtype. Returns NotImplemented for other tensors.
    """
    dtype = functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors])
    if any(tensor.dtype != dtype for tensor in tensors):
        return torch.cat([tensor.to(dtype) for tensor in tensors], dim)
    first = tensors[0]
    if not -first.dim() <= dim < first.dim():
        # An empty tensor of one dimension can be concatenated with tensors of any rank.
        return NotImplemented
    for tensor in tensors:
        size = tensor.shape[dim] if tensor.dim() == first.dim() else None
        if not isinstance(size, int) or size:
            return NotImplemented
    return first.clone()


def constant_pad(x: torch.Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """Adds `pad` elements at both ends of the last dimensions; negative amounts remove elements.

    Returns NotImplemented unless an amount is negative and known at capture.
    """
    if not any(isinstance(amount, int) and amount < 0 for amount in pad):
        return NotImplemented
    added = list(pad)
    for place, amount in enumerate(pad):
        if not isinstance(amount, int) or amount >= 0:
            continue
        dim = x.dim() - 1 - place // 2
        start = -amount if place % 2 == 0 else 0
        x = x.narrow(dim, start, x.shape[dim] + amount)
        added[place] = 0
    return torch.constant_pad_nd(x, added, value) if any(added) else x.clone()


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
