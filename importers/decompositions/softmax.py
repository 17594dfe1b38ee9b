"""Softmax."""

from __future__ import annotations

from typing import Any

import torch


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 0 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    return NotImplemented if x.dim() else (x - x).to(torch.float32 if half_to_float else x.dtype)


def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 1 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)
