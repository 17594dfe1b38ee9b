"""Logarithms of sums of two exponentials."""

from __future__ import annotations

import math
from typing import Any

import torch


def logaddexp(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns log(e^x + e^y), NaN where an operand is NaN; NotImplemented for complex numbers."""
    if x.is_complex() or y.is_complex():
        return NotImplemented
    return _sum(x, y, torch.log1p(torch.exp(-(x - y).abs())))


def logaddexp2(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns log2(2^x + 2^y), NaN where an operand is NaN."""
    return _sum(x, y, torch.log1p(torch.exp2(-(x - y).abs())) * (1 / math.log(2)))


def _sum(x: torch.Tensor, y: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
    larger = torch.maximum(x, y)
    infinite = torch.logical_and(torch.eq(x, y), torch.isinf(larger))
    return torch.where(infinite, larger, larger + more)
