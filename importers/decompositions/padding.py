"""Padding that takes away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def constant_pad(x: torch.Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """`x` with `pad` more elements at both ends of its last dimensions, or fewer where negative.

    Sizes that are not known at capture, and padding that only adds, are left.
    """
    if not any(isinstance(amount, int) and amount < 0 for amount in pad):
        return NotImplemented
    added = list(pad)
    for place, amount in enumerate(pad):
        if not isinstance(amount, int) or amount >= 0:
            continue
        dim = x.dim() - 1 - place // 2
        start = -amount if place % 2 == 0 else 0
        x = x.narrow(dim, start, x.shape[dim] + amount)
        added[place] = 0
    return torch.constant_pad_nd(x, added, value) if any(added) else x.clone()
