"""Sums and means of embeddings, bag by bag."""

from __future__ import annotations

from typing import Any

import torch

_SUM, _MAX = 0, 2


def embedding_bag(
    table: torch.Tensor,
    indices: torch.Tensor,
    offsets: torch.Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: torch.Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Rows of `table` (rows, width), added up or averaged in bags that start at `offsets` (bags).

    Plain sums and maxima are left.

    Returns:
        The bags (bags, width); and of each index its bag, of each bag its size, and zeros (bags),
        which `aten::_embedding_bag` returns for its gradient.
    """
    plain = mode == _SUM and per_sample_weights is None
    plain = plain and padding_idx < 0 and not include_last_offset
    if plain or mode == _MAX:
        return NotImplemented
    starts = offsets[:-1] if include_last_offset else offsets
    places = torch.arange(indices.shape[0], device=indices.device, dtype=starts.dtype)
    # Bags without an index start where the next one does.
    bag = (places.unsqueeze(1) >= starts).sum(1) - 1
    counted = (indices != padding_idx).to(torch.int64)
    sizes = torch.zeros_like(starts, dtype=torch.int64).scatter_add(0, bag, counted)
    # Half precision is summed in single precision, as eager does.
    rows = table[indices].to(torch.promote_types(table.dtype, torch.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    rows = torch.where(counted.unsqueeze(1).to(torch.bool), rows, 0.0)
    sums = rows.new_zeros(starts.shape[0], table.shape[1])
    sums = sums.scatter_add(0, bag.unsqueeze(1).expand_as(rows), rows)
    if mode != _SUM:
        sums = sums / sizes.clamp(min=1).unsqueeze(1)
    return sums.to(table.dtype), bag, sizes, torch.zeros_like(starts)
