"""Concatenations of nothing."""

from __future__ import annotations

from typing import Any

import torch


def concatenate(tensors: list[torch.Tensor], dim: int = 0) -> Any:
    """The tensors one after the other along `dim`, where none has an element there.

    Any others are left.
    """
    first = tensors[0]
    if not -first.dim() <= dim < first.dim():
        # A tensor of one dimension without elements goes with any others.
        return NotImplemented
    for tensor in tensors:
        same = tensor.dim() == first.dim() and tensor.dtype == first.dtype
        size = tensor.shape[dim] if same else None
        if not isinstance(size, int) or size:
            return NotImplemented
    return first.clone()
