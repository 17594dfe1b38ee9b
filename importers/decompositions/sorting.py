"""Sorting that keeps equal elements in their order."""

from __future__ import annotations

import torch


def sort_stably(
    x: torch.Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Values and indices along `dim`, as `torch.sort(x, stable=True)` has them."""
    return torch.ops.aten.sort.default(x, dim, descending)
