"""Bags of embeddings, and embeddings whose norm is limited."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.assertions import require

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
    """Reduces rows of `table` (rows, width) in bags that start at `offsets` (bags).

    The reduction is a sum, mean or maximum.

    Returns:
        The bags (bags, width), the bag of each index, the size of each bag, and zeros (bags), which
        `aten::_embedding_bag` returns for its gradient.
    """
    _check_offsets(offsets, indices.shape[0])
    starts = offsets[:-1] if include_last_offset else offsets
    places = torch.arange(indices.shape[0], device=indices.device, dtype=starts.dtype)
    bag = _bags(starts, indices.shape[0])
    counted = indices != padding_idx
    if include_last_offset:
        counted = torch.logical_and(counted, torch.lt(places, offsets[-1]))
    counted = counted.to(torch.int64)
    sizes = torch.zeros_like(starts, dtype=torch.int64).scatter_add(0, bag, counted)
    # Sum half precision in single precision, as eager does. Unlike indexing, `index_select` does
    # not count negative indices from the back.
    rows = table.index_select(0, indices).to(torch.promote_types(table.dtype, torch.float32))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    empty = -math.inf if mode == _MAX else 0.0
    rows = torch.where(counted.unsqueeze(1).to(torch.bool), rows, empty)
    bags = rows.new_full((starts.shape[0], table.shape[1]), empty)
    if mode == _MAX:
        # Eager compares each element with the maximum so far, so that only a first NaN is kept.
        number = counted.cumsum(0) - (sizes.cumsum(0) - sizes).index_select(0, bag)
        is_ignored = torch.logical_and(torch.isnan(rows), torch.ne(number, 1).unsqueeze(1))
        rows = torch.where(is_ignored, empty, rows)
        bags = bags.scatter_reduce(0, bag.unsqueeze(1).expand_as(rows), rows, "amax")
        bags = torch.where((sizes == 0).unsqueeze(1), 0.0, bags)
    else:
        bags = bags.index_put((bag,), rows, accumulate=True)
    if mode not in (_SUM, _MAX):
        bags = bags / sizes.clamp(min=1).unsqueeze(1)
    return bags.to(table.dtype), bag, sizes, torch.zeros_like(starts)


def _bags(starts: torch.Tensor, count: int) -> torch.Tensor:
    """Returns the bag of each of `count` indices, for bags that begin at `starts`."""
    # An empty bag starts where the next one starts, or behind the last index.
    starts = starts.to(torch.int64)
    begun = torch.zeros((count + 1,), dtype=torch.int64, device=starts.device)
    return begun.scatter_add(0, starts, torch.ones_like(starts))[:count].cumsum(0) - 1


def _check_offsets(offsets: torch.Tensor, count: int) -> None:
    """Inserts checks that the offsets are in order, from 0 to at most `count`.

    Eager rejects a wrong first or last offset. If the offsets are not in order, it reads out of
    bounds.
    """
    if isinstance(offsets.shape[0], int) and offsets.shape[0] == 0:
        return
    require(torch.eq(offsets[0], 0), "embedding_bag has offsets that do not begin with 0")
    require(torch.le(offsets[-1], count), "embedding_bag has an offset beyond its indices")
    require(torch.le(offsets[:-1], offsets[1:]), "embedding_bag has offsets that are not in order")


# Eager adds this number to each norm before the division.
_EPSILON = 1e-7


def embedding_renorm(
    table: torch.Tensor, indices: torch.Tensor, max_norm: float, norm_type: float
) -> torch.Tensor:
    """Scales the rows of `table` (rows, width) at `indices` (any shape) to at most `max_norm`.

    Args:
        norm_type: the order of the vector norm.
    """
    flat = indices.reshape(-1).to(torch.int64)
    is_used = torch.zeros_like(table[:, 0], dtype=torch.int64).scatter(0, flat, 1).unsqueeze(1) != 0
    norm = torch.linalg.vector_norm(table, norm_type, 1, True)
    is_scaled = torch.logical_and(is_used, norm > max_norm)
    return torch.where(is_scaled, table * (max_norm / (norm + _EPSILON)), table)
