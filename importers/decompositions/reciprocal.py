"""Reciprocals, of zeros too."""

from __future__ import annotations

import torch


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """1 divided by `x`: infinite at zeros; floating point for integers. Complex `x` is left."""
    return NotImplemented if x.is_complex() else torch.div(1, x)
