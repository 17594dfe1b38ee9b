"""Losses and gradients. PyTorch computes the cross entropy of a linear layer in chunks."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

# Values of `reduction`.
_MEAN, _SUM = 1, 2


def linear_cross_entropy(
    x: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    linear_bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: torch.dtype,
    allow_retain_graph: bool,
    compute_input_grad: bool,
    compute_linear_weight_grad: bool,
    compute_linear_bias_grad: bool,
) -> tuple[torch.Tensor, ...]:
    """Returns the loss and the requested gradients; other gradients have no elements.

    Args:
        x: (batch, features).
        linear_weight, linear_bias: (classes, features) and (classes).
        target: i64 (batch).
        reduction: `mean` or `sum`.
    """
    logits = _logits(x, linear_weight, linear_bias)
    options = {"weight": _wide(weight), "ignore_index": ignore_index}
    loss = F.cross_entropy(
        logits, target, reduction=reduction, label_smoothing=label_smoothing, **options
    )
    counted = torch.ne(target, ignore_index)
    share = counted.to(logits.dtype)
    label = torch.where(counted, target, 0)
    if weight is not None:
        share = share * weight.to(logits.dtype)[label]
    if reduction == "mean":
        share = share / share.sum()
    hits = torch.eq(label.unsqueeze(1), torch.arange(logits.shape[1])).to(logits.dtype)
    slope = (torch.softmax(logits, 1) - hits) * share.unsqueeze(1)
    of_x = slope @ linear_weight.to(slope.dtype) if compute_input_grad else x.new_empty(0, 0)
    of_weight = slope.t() @ x.to(slope.dtype) if compute_linear_weight_grad else x.new_empty(0, 0)
    of_bias = slope.sum(0) if compute_linear_bias_grad else x.new_empty(0)
    return tuple(each.to(x.dtype) for each in (loss, of_x, of_weight, of_bias))


def linear_cross_entropy_no_reduction(
    x: torch.Tensor,
    linear_weight: torch.Tensor,
    target: torch.Tensor,
    linear_bias: torch.Tensor | None,
    weight: torch.Tensor | None,
    ignore_index: int,
    batch_chunk_size: int,
    acc_policy: str,
    acc_dtype: torch.dtype,
) -> torch.Tensor:
    """Returns the losses (batch); the arguments are as for `linear_cross_entropy`."""
    logits = _logits(x, linear_weight, linear_bias)
    options = {"weight": _wide(weight), "ignore_index": ignore_index}
    return F.cross_entropy(logits, target, reduction="none", **options).to(x.dtype)


def _logits(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    return F.linear(_wide(x), _wide(weight), _wide(bias))


def _wide(x: torch.Tensor | None) -> torch.Tensor | None:
    """Converts narrow types to f32."""
    return None if x is None else x.to(torch.promote_types(x.dtype, torch.float32))


def huber_loss(x: torch.Tensor, y: torch.Tensor, reduction: int = _MEAN, delta: float = 1.0) -> Any:
    """Returns the loss in the dtype of `x`, or NotImplemented if both dtypes are the same."""
    if x.dtype == y.dtype:
        return NotImplemented
    dtype = torch.result_type(x, y)
    none = 0
    loss = torch.ops.aten.huber_loss.default(x.to(dtype), y.to(dtype), none, delta).to(x.dtype)
    if reduction == _MEAN:
        return loss.mean()
    return loss.sum() if reduction == _SUM else loss


def multilabel_margin_loss(
    x: torch.Tensor, target: torch.Tensor, reduction: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the loss, and which classes are labels, in the dtype and shape of `x`.

    Args:
        x: (batch, classes) or (classes).
        target: i64, as `x`. Its first -1 ends the labels.
    """
    scores, labels = torch.atleast_2d(x), torch.atleast_2d(target)
    classes = scores.shape[1]
    place = torch.arange(classes)
    end = torch.where(torch.eq(labels, -1), place, classes).amin(-1, keepdim=True)
    counted = torch.lt(place, end)
    labels = torch.where(counted, labels, 0)
    hits = torch.logical_and(torch.eq(labels.unsqueeze(2), place), counted.unsqueeze(2))
    is_label = hits.any(1)
    # For each label and each class that is not a label.
    margins = 1 - scores.gather(1, labels).unsqueeze(2) + scores.unsqueeze(1)
    pairs = torch.logical_and(counted.unsqueeze(2), torch.logical_not(is_label).unsqueeze(1))
    # NaN does not count, as in eager.
    violated = torch.logical_and(pairs, torch.gt(margins, 0))
    loss = torch.where(violated, margins, 0).sum((1, 2)) / classes
    if reduction == _MEAN:
        loss = loss.mean()
    elif reduction == _SUM or x.dim() < 2:
        loss = loss.sum()
    return loss, is_label.to(x.dtype).reshape(x.shape)
