"""Attention whose result has the memory layout of the fused kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.symbolic_shapes import guard_or_false

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
