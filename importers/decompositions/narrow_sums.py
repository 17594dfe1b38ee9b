"""Sums of floats of 16 bits."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

_NARROW = (torch.float16, torch.bfloat16)


def in_f32(operator: torch._ops.OpOverload) -> Any:
    """A function with the operator's arguments, that computes in f32 and rounds the result.

    Operands that are wide, and calls that ask for a type, are left.
    """

    def wide(x: torch.Tensor, *args: Any, **options: Any) -> Any:
        if x.dtype not in _NARROW or options.get("dtype") is not None:
            return NotImplemented
        return pytree.tree_map(lambda y: y.to(x.dtype), operator(x.float(), *args, **options))

    return wide


def batch_norm(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    mean: torch.Tensor | None,
    variance: torch.Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`native_batch_norm` of narrow `x` in f32; wide `x` is left.

    Returns:
        The result, of the type of `x`, and in f32 the mean and the inverse standard deviation.
    """
    if x.dtype not in _NARROW:
        return NotImplemented
    wide = (None if y is None else y.float() for y in (x, weight, bias, mean, variance))
    result, *statistics = torch.ops.aten.native_batch_norm.default(*wide, training, momentum, eps)
    return result.to(x.dtype), *statistics


def rms_norm(
    x: torch.Tensor,
    normalized_shape: list[int],
    weight: torch.Tensor | None = None,
    eps: float | None = None,
) -> Any:
    """`x` over its root mean square in the last dimensions, in f32; wide `x` is left."""
    if x.dtype not in _NARROW:
        return NotImplemented
    wide = x.float()
    axes = list(range(-len(normalized_shape), 0))
    square = (wide * wide).mean(axes, keepdim=True)
    result = wide * torch.rsqrt(square + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (result if weight is None else result * weight).to(x.dtype)
