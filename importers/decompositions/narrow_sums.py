"""Sums of floats of 16 bits."""

from __future__ import annotations

from typing import Any

import torch

_NARROW = (torch.float16, torch.bfloat16)


def in_f32(operator: torch._ops.OpOverload) -> Any:
    """A function with the operator's arguments, that computes in f32 and rounds the result.

    Operands that are wide, and calls that ask for a type, are left.
    """

    def wide(x: torch.Tensor, *args: Any, **options: Any) -> Any:
        if x.dtype not in _NARROW or options.get("dtype") is not None:
            return NotImplemented
        return operator(x.float(), *args, **options).to(x.dtype)

    return wide


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
