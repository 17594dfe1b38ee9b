"""Attention as two products of matrices, which can be quantized, and a softmax between them."""

from __future__ import annotations

import math

import torch

_ATTENTION = torch.ops.aten.scaled_dot_product_attention.default


def with_attention_products(graph: torch.export.ExportedProgram) -> torch.export.ExportedProgram:
    """Decomposes `scaled_dot_product_attention`, if the graph has it, and no other operator."""
    if all(node.target is not _ATTENTION for node in graph.graph.nodes):
        return graph
    return graph.run_decompositions({_ATTENTION: _attention})


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """Computes the operator. Returns NotImplemented for dropout.

    Args:
        query: (…, heads, length, size). See `torch.nn.functional.scaled_dot_product_attention`.
    """
    if dropout_p:
        return NotImplemented
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = (each.repeat_interleave(groups, -3) for each in (key, value))
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
    if attn_mask is None:
        return torch.matmul(torch.softmax(scores, -1), value)
    if attn_mask.dtype == torch.bool:
        scores = torch.where(attn_mask, scores, float("-inf"))
    else:
        scores = scores + attn_mask
    # A row that is masked in full has the result 0.
    return torch.matmul(torch.ops.aten._safe_softmax.default(scores, -1), value)
