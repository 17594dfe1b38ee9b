"""Softmax."""

from __future__ import annotations

from typing import Any

import torch


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """0 of a tensor without dimensions, NaN where it is not finite; others are left."""
    return NotImplemented if x.dim() else (x - x).to(torch.float32 if half_to_float else x.dtype)


def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """1 of a tensor without dimensions, NaN where it is not finite; others are left."""
    if x.dim():
        return NotImplemented
    return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)
