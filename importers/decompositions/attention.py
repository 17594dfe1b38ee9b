"""Fused attention of the CPU, and its gradient."""

from __future__ import annotations

import math

import torch
from torch._decomp import decomposition_table
from torch.fx.experimental.symbolic_shapes import guard_or_false

_FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes fused attention by PyTorch's decomposition, with the strides of the operator.

    The second result of PyTorch's decomposition is the attention weights. The operator's second
    result is read by its gradient: the logarithm of the sum of the exponentials of each query's
    scores, (batch, heads, length), or 0 if all keys are masked.

    Args:
        query: (batch, heads, length, size). A batch that depends on data (Idefics 3 counts its
            images) is assumed to be larger than 1.
        key, value: (batch, heads or a divisor of them, keys, size).
    """
    options = {"attn_mask": attn_mask, "scale": scale}
    result, _ = decomposition_table[_FUSED](query, key, value, dropout_p, is_causal, **options)
    scores, _ = _scores(query, _for_each_head(key, query), is_causal, attn_mask, scale)
    # `torch.logsumexp` compares the number of elements with 0, which may depend on data.
    largest = scores.amax(-1, keepdim=True)
    largest = largest.masked_fill(largest == -math.inf, 0)
    total = torch.exp(scores - largest).sum(-1)
    statistics = (torch.log(total) + largest.squeeze(-1)).masked_fill(total == 0, 0)
    # PyTorch's decomposition has the right strides for a batch of 1.
    is_single = guard_or_false(query.shape[0] == 1)
    return result if is_single else _as_stored(result), statistics


def attention_backward(
    grad_out: torch.Tensor,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    out: torch.Tensor,
    logsumexp: torch.Tensor,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: torch.Tensor | None = None,
    scale: float | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Computes the gradients of fused attention for `query`, `key` and `value`.

    Args:
        grad_out: the gradient of `out`, (batch, heads, length, size).
        logsumexp: the second result of `attention`.
        dropout_p: 0, as the forward operator requires.
    """
    keys, values = _for_each_head(key, query), _for_each_head(value, query)
    scores, scale = _scores(query, keys, is_causal, attn_mask, scale)
    grad_out, out = grad_out.to(scores.dtype), out.to(scores.dtype)
    weights = torch.exp(scores - logsumexp.unsqueeze(-1))
    grad_values = weights.mT @ grad_out
    grad_weights = grad_out @ values.to(scores.dtype).mT
    grad_scores = weights * (grad_weights - (grad_out * out).sum(-1, keepdim=True)) * scale
    grad_query = grad_scores @ keys.to(scores.dtype)
    grad_keys = grad_scores.mT @ query.to(scores.dtype)
    gradients = grad_query, _of_heads(grad_keys, key), _of_heads(grad_values, value)
    return tuple(_as_stored(gradient.to(query.dtype)) for gradient in gradients)


def _scores(
    query: torch.Tensor,
    keys: torch.Tensor,
    is_causal: bool,
    mask: torch.Tensor | None,
    scale: float | None,
) -> tuple[torch.Tensor, float]:
    """Returns the scores, (batch, heads, length, keys), in f32 or f64, and the scale."""
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query.to(wide) * scale) @ keys.to(wide).mT
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    return scores if mask is None else scores + mask.to(wide), scale


def _for_each_head(x: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Repeats keys or values that several heads of the query share."""
    heads, shared = query.shape[1], x.shape[1]
    return x if heads == shared else x.repeat_interleave(heads // shared, 1)


def _of_heads(gradient: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Sums the gradients of the query's heads that share the same keys or values."""
    if gradient.shape[1] == x.shape[1]:
        return gradient
    return gradient.unflatten(1, (x.shape[1], -1)).sum(2)


def _as_stored(x: torch.Tensor) -> torch.Tensor:
    """Returns `x` in the memory order of the operator's result: (batch, length, heads, size).

    Models can then join heads without a copy.
    """
    return x.transpose(1, 2).contiguous().transpose(1, 2)
