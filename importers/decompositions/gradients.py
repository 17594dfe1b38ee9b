"""Gradients and losses of operands with different dtypes."""

from __future__ import annotations

from typing import Any

import torch

_MEAN, _SUM = 1, 2


def threshold_backward(gradient: torch.Tensor, x: torch.Tensor, threshold: float) -> Any:
    """Returns `gradient` where `x` is above the threshold, 0 elsewhere, in the promoted dtype.

    Returns NotImplemented if both dtypes are the same.
    """
    if gradient.dtype == x.dtype:
        return NotImplemented
    dtype = torch.result_type(gradient, x)
    # Compare as eager does: NaN lets the gradient pass.
    return torch.where(torch.le(x.to(dtype), threshold), 0, gradient.to(dtype)).to(dtype)


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
