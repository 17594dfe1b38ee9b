"""Example tensors at other sizes, and with chosen strides."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def restrided(tensor: torch.Tensor, strides: Sequence[int | None] | None) -> torch.Tensor:
    """Returns a tensor with the same elements and these strides.

    Args:
        strides: in elements, of a tensor whose elements fill its memory; 0 along expanded
            dimensions. Unless all are known, the tensor itself is returned.
    """
    if strides is None or None in strides or tensor.stride() == tuple(strides):
        return tensor
    stored = _stored(tensor, strides)
    memory = torch.empty_strided(stored.shape, strides, dtype=tensor.dtype, device=tensor.device)
    return memory.copy_(stored).expand(tensor.shape)


def cloned(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a copy. Unlike `torch.clone`, it keeps expanded dimensions expanded."""
    tensor = tensor.detach()
    if tensor.layout != torch.strided or tensor.is_nested or 0 not in tensor.stride():
        return tensor.clone()
    return _stored(tensor, tensor.stride()).clone().expand(tensor.shape)


def _stored(tensor: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """Returns the first slice of each expanded dimension, the elements that are in memory."""
    return tensor[tuple(slice(0, 1) if step == 0 else slice(None) for step in strides)]


def resized(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns a tensor of this shape, made of slices of `tensor`, which has no empty dimension.

    Slices are repeated, so that indices, masks and token ids stay valid. In floating-point and
    complex tensors, each added slice is scaled down a little more than the one before, so that no
    two are the same.
    """
    for axis, size in enumerate(shape):
        old = tensor.shape[axis]
        if size == old:
            continue
        indices = torch.arange(size)
        tensor = tensor.index_select(axis, indices % old)
        if tensor.is_floating_point() or tensor.is_complex():
            factors = 1 - torch.clamp(indices - old + 1, min=0) / (4 * size)
            factors = factors.to(tensor.dtype)
            tensor = tensor * factors.reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return tensor
