"""Reciprocals, including those of zeros."""

from __future__ import annotations

import torch


def reciprocal(x: torch.Tensor) -> torch.Tensor:
    """Returns 1 divided by `x`: infinite at zeros, floating point for integers.

    Returns NotImplemented for complex `x`.
    """
    return NotImplemented if x.is_complex() else torch.div(1, x)
