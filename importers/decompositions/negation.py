"""Negation of integers, and as a view."""

from __future__ import annotations

from typing import Any

import torch


def neg(x: torch.Tensor) -> Any:
    """`-x`; anything but integers is left."""
    if x.is_floating_point() or x.is_complex():
        return NotImplemented
    return torch.zeros((), dtype=x.dtype) - x


def neg_view(x: torch.Tensor) -> torch.Tensor:
    """`-x`, as values have it that are no views."""
    return torch.neg(x)
