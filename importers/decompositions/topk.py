"""The largest elements, in order."""

from __future__ import annotations

import torch


def topk_in_order(
    x: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns values and indices (i64) of the `k` largest or smallest along `dim`, in order.

    Returns NotImplemented if `sorted` is set.
    """
    if sorted:
        return NotImplemented
    return torch.ops.aten.topk.default(x, k, dim, largest, True)
