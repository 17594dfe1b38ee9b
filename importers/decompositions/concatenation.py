"""Concatenation of empty tensors and of several dtypes."""

from __future__ import annotations

import functools
from typing import Any

import torch


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
