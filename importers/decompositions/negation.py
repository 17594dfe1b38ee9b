"""Negation of integers, and negation as a view."""

from __future__ import annotations

from typing import Any

import torch


def neg(x: torch.Tensor) -> Any:
    """Returns `-x` for integers, and NotImplemented for others."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    return torch.zeros((), dtype=x.dtype) - x


def neg_view(x: torch.Tensor) -> torch.Tensor:
    """Returns `-x` as a value, not as a view."""
    return torch.neg(x)
