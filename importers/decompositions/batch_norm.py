"""Batch norms that return or update their statistics."""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp.decompositions import native_batch_norm_helper

_Optional = torch.Tensor | None


def batch_norm_with_update(
    x: torch.Tensor,
    weight: _Optional,
    bias: _Optional,
    running_mean: torch.Tensor,
    running_var: torch.Tensor,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    """Normalizes `x` for training.

    Returns:
        The result, the mean and inverse standard deviation of the batch, an empty reserve, and the
        new running statistics.
    """
    statistics = running_mean, running_var
    result, mean, deviation, *new = native_batch_norm_helper(
        x, weight, bias, *statistics, True, momentum, eps, True
    )
    return result, mean, deviation, _reserve(x), *new


def batch_norm_no_update(
    x: torch.Tensor,
    weight: _Optional,
    bias: _Optional,
    running_mean: _Optional,
    running_var: _Optional,
    momentum: float,
    eps: float,
) -> tuple[torch.Tensor, ...]:
    """Normalizes `x` for inference.

    Returns:
        The result, and a mean, inverse standard deviation and reserve that only a gradient reads.
    """
    statistics = running_mean, running_var
    result, mean, deviation, *_ = native_batch_norm_helper(
        x, weight, bias, *statistics, False, momentum, eps, False
    )
    return result, mean, deviation, _reserve(x)


def batch_norm_for_inference(
    x: torch.Tensor,
    weight: _Optional,
    bias: _Optional,
    running_mean: _Optional,
    running_var: _Optional,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Computes `native_batch_norm` by the running statistics; NotImplemented for training.

    Returns:
        The result, and two tensors without elements.
    """
    if training:
        return NotImplemented
    return torch.ops.aten._native_batch_norm_legit_no_training.default(
        x, weight, bias, running_mean, running_var, momentum, eps
    )


def _reserve(x: torch.Tensor) -> torch.Tensor:
    """Returns the reserve that cuDNN keeps for the gradient; on the CPU it has no elements."""
    return x.new_empty(0, dtype=torch.uint8)
