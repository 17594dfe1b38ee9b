"""Example tensors at other sizes."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def resized(tensor: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Returns a tensor of this shape, with values like in `tensor`, which has no empty dimension.

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
