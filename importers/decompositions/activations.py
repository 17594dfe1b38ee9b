"""Activations, softmax and attention."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.symbolic_shapes import guard_or_false

_LOW = (torch.float16, torch.bfloat16)


def elu(
    x: torch.Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> torch.Tensor:
    """Returns `scale` x, and `scale` `alpha` (e^(`input_scale` x) - 1) below zero.

    It is computed in f32 or f64 by expm1, as in eager, which is accurate next to zero.
    """
    wide = x if x.dtype == torch.float64 else x.float()
    left = torch.expm1(wide * input_scale) * (alpha * scale)
    return torch.where(wide < 0, left, wide * scale).to(x.dtype)


def gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Returns GELU of floating-point `x`, by tanh or exactly.

    Exact GELU is computed in f32 for f16 and bf16, and NotImplemented for other dtypes.
    """
    wide = x.float() if x.dtype in _LOW else x
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
    return torch.ops.aten.gelu.default(wide).to(x.dtype) if x.dtype in _LOW else NotImplemented


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 0 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    return NotImplemented if x.dim() else (x - x).to(torch.float32 if half_to_float else x.dtype)


def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 1 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)


_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def attention(query: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes PyTorch's decomposition, with the strides of the operator that it replaces.

    Returns NotImplemented for a batch of 1.

    Args:
        query: (batch, heads, length, size). A batch that depends on data (Idefics 3 counts its
            images) is assumed to be larger than 1.
    """
    if guard_or_false(query.shape[0] == 1):
        return NotImplemented
    result, statistics = decomposition_table[_FLASH](query, *args, **kwargs)
    # The order in memory is (batch, length, heads, size), so models can join heads without a copy.
    return result.transpose(1, 2).contiguous().transpose(1, 2), statistics
