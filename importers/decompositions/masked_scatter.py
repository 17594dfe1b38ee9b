"""Filling the places of a mask in order, as a gather."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true


def masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """`x` (any shape) with the elements of `source`, in their order, where `mask` is True.

    `mask` is broadcast to the shape of `x`. Where it does not tell the elements of a last dimension
    apart, as the places of image features in a text, they are gathered together.
    """
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, width = x.expand(shape), shape[-1] if shape else 1
    if any(statically_known_true(size == 0) for size in (*shape, *source.shape)):
        return x.clone()  # nothing to fill, or nothing to fill it with
    rows = mask.dim() > 0 and mask.shape[-1] == 1 != width and source.numel() % width == 0
    if not rows:
        mask, width = mask.expand(shape).unsqueeze(-1), 1
    else:
        mask = mask.expand(*shape[:-1], 1)
    # The number of the element, or row, that comes next; beyond the mask's last, any will do.
    position = mask.reshape(-1).to(torch.int64).cumsum(0) - 1
    position = position.clamp(min=0, max=source.numel() // width - 1)
    values = source.reshape(-1, width).to(x.dtype)[position].reshape(shape)
    return torch.where(mask if rows else mask.squeeze(-1), values, x)
