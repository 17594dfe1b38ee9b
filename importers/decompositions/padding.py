"""Padding with negative amounts, which removes elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def constant_pad(x: torch.Tensor, pad: Sequence[int], value: float = 0) -> Any:
    """Adds `pad` elements at both ends of the last dimensions; negative amounts remove elements.

    Returns NotImplemented unless an amount is negative and known at capture.
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
