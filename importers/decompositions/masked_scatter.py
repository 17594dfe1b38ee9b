"""Masked scatters as gathers."""

from __future__ import annotations

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.decompositions.assertions import require


def masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Returns `x` (any shape) with the elements of `source`, in their order, where `mask` is True.

    `mask` is broadcast to the shape of `x`. If its last dimension has size 1, as for image features
    in a text, whole rows are gathered.
    """
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, width = x.expand(shape), shape[-1] if shape else 1
    if any(statically_known_true(size == 0) for size in shape):
        return x.clone()  # nothing to fill
    if any(statically_known_true(size == 0) for size in source.shape):
        require(torch.logical_not(mask), "masked_scatter has no elements in its source")
        return x.clone()
    rows = (
        mask.dim() > 0
        and statically_known_true(mask.shape[-1] == 1)
        and statically_known_true(width != 1)
        and source.numel() % width == 0
    )
    if not rows:
        mask, width = mask.expand(shape).unsqueeze(-1), 1
    else:
        mask = mask.expand(*shape[:-1], 1)
    # The running count gives the index of the next element or row. Where the mask is False, any
    # index will do.
    counts = mask.reshape(-1).to(torch.int64)
    require(
        torch.le(counts.sum(), source.numel() // width),
        "masked_scatter has fewer elements in its source than places in its mask",
    )
    source = source.reshape(-1, width).to(x.dtype)
    if not statically_known_true(source.shape[0] > 0):
        # The gather reads an element for each position, even if the mask has no True.
        source = torch.cat([source, source.new_zeros(1, width)])
    position = counts.cumsum(0) - 1
    position = position.clamp(min=0, max=source.shape[0] - 1)
    values = source[position].reshape(shape)
    return torch.where(mask if rows else mask.squeeze(-1), values, x)
