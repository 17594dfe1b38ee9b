"""Sums of 16-bit floats."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from importers.decompositions.numbers import REDUCED_FLOATS
from importers.decompositions.overloads import takes_overload


@takes_overload
def in_f32(overload: torch._ops.OpOverload, x: torch.Tensor, *args: Any, **options: Any) -> Any:
    """Computes an operator in f32, and rounds the result.

    Returns NotImplemented for wide operands and for calls with a `dtype`.
    """
    if x.dtype not in REDUCED_FLOATS or options.get("dtype") is not None:
        return NotImplemented
    return pytree.tree_map(lambda y: y.to(x.dtype), overload(x.float(), *args, **options))


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
    """Computes `native_batch_norm` of narrow `x` in f32; NotImplemented for wide `x`.

    Returns:
        The result in the dtype of `x`, and the mean and the inverse standard deviation in f32.
    """
    if x.dtype not in REDUCED_FLOATS:
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
    """Divides `x` by its root mean square in the last dimensions, in f32.

    Returns NotImplemented for wide `x`.
    """
    if x.dtype not in REDUCED_FLOATS:
        return NotImplemented
    wide = x.float()
    axes = list(range(-len(normalized_shape), 0))
    square = (wide * wide).mean(axes, keepdim=True)
    result = wide * torch.rsqrt(square + (torch.finfo(wide.dtype).eps if eps is None else eps))
    return (result if weight is None else result * weight).to(x.dtype)
