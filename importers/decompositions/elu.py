"""ELU and its relatives."""

from __future__ import annotations

import torch


def elu(
    x: torch.Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> torch.Tensor:
    """Returns `scale` x, and `scale` `alpha` (e^(`input_scale` x) - 1) below zero.

    It is computed in f32 or f64 by expm1, as in eager, which is accurate next to zero.
    """
    wide = x if x.dtype == torch.float64 else x.float()
    left = torch.expm1(wide * input_scale) * (alpha * scale)
    return torch.where(wide < 0, left, wide * scale).to(x.dtype)
