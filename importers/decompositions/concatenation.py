"""Concatenations of nothing, and of several types."""

from __future__ import annotations

import functools
from typing import Any

import torch


def concatenate(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    """The tensors one after the other along `dim`, in the type that all are promoted to, and where
    none has an element there. Any others are left.
    """
    dtype = functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors])
    if any(tensor.dtype != dtype for tensor in tensors):
        return torch.cat([tensor.to(dtype) for tensor in tensors], dim)
    first = tensors[0]
    if not -first.dim() <= dim < first.dim():
        # A tensor of one dimension without elements goes with any others.
        return NotImplemented
    for tensor in tensors:
        size = tensor.shape[dim] if tensor.dim() == first.dim() else None
        if not isinstance(size, int) or size:
            return NotImplemented
    return first.clone()
