"""Attention with its result laid out as the fused kernel's is."""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.symbolic_shapes import guard_or_false

_FLASH = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def attention(query: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """PyTorch's decomposition, with the strides of the operator that it replaces.

    Args:
        query: (batch, heads, length, size); a batch of 1 is left as it is, and one that depends on
            data (Idefics 3 counts its images) is taken for several.
    """
    if guard_or_false(query.shape[0] == 1):
        return NotImplemented
    result, statistics = decomposition_table[_FLASH](query, *args, **kwargs)
    # Memory in the order (batch, length, heads, size), on which models join heads without a copy.
    return result.transpose(1, 2).contiguous().transpose(1, 2), statistics
