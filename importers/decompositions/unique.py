"""Distinct elements and rows, sorted or in the order of the input."""

from __future__ import annotations

import math
from typing import Any

import torch

# The maximum number of comparisons between elements of rows.
_MOST = 1 << 24


def unique(
    x: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the distinct elements of `x` in ascending order, the inverse and the counts.

    Returns:
        Values `[n]`, indices of values (i64, x's shape) and counts (i64 `[n]`). Results that are
        not requested are empty. Each NaN is a distinct value.
    """
    values, order = torch.sort(x.reshape(-1), stable=True)
    kept, rank, counts = _runs(values, torch.ne(values[1:], values[:-1]))
    return (
        values[kept],
        _inverse(rank, order).reshape(x.shape) if return_inverse else _nothing(),
        counts if return_counts else _nothing(),
    )


def unique_old(
    x: torch.Tensor, sorted: bool = True, return_inverse: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `unique` without counts."""
    values, inverse, _ = unique(x, sorted, return_inverse)
    return values, inverse


def unique_along(
    x: torch.Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """Returns the distinct slices of `x` along `dim` in lexicographic order.

    Returns:
        As `unique`, for slices, and always all three. NotImplemented if that takes too many
        comparisons.
    """
    dim = dim % max(x.dim(), 1)
    moved = x.movedim(dim, 0)
    count = moved.shape[0]
    width = math.prod(moved.shape[1:])
    if not isinstance(count * width, int) or count * count * width > _MOST:
        return NotImplemented
    rows = moved.reshape(count, width)
    if not width:
        rows = torch.zeros((count, 1), dtype=x.dtype)
    order = _lexicographic_order(rows)
    rows = rows.index_select(0, order)
    kept, rank, counts = _runs(rows, torch.ne(rows[1:], rows[:-1]).any(-1))
    values = moved.index_select(0, order)[kept]
    return values.movedim(0, dim), _inverse(rank, order), counts


def unique_consecutive(
    x: torch.Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Removes the elements, or slices along `dim`, that are equal to the one before.

    Returns:
        As `unique`.
    """
    moved = x.reshape(-1) if dim is None else x.movedim(dim, 0)
    rows = moved if dim is None else moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))
    changes = torch.ne(rows[1:], rows[:-1])
    kept, rank, counts = _runs(rows, changes if dim is None else changes.any(-1))
    values = moved[kept]
    return (
        values if dim is None else values.movedim(0, dim),
        (rank.reshape(x.shape) if dim is None else rank) if return_inverse else _nothing(),
        counts if return_counts else _nothing(),
    )


def _runs(
    rows: torch.Tensor, changes: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns where runs of equal rows begin, the number of each row's run, and their lengths.

    Args:
        rows: in order.
        changes: bool, whether each row but the first differs from the one before.

    Returns:
        Indices (i64 `[runs]`), numbers (i64 `[rows]`) and lengths (i64 `[runs]`).
    """
    size = rows.shape[0]
    # Empty if there are no rows.
    first = torch.arange(size)[:1] >= 0
    begins = torch.cat([first, changes])
    kept = torch.nonzero(begins).squeeze(-1)
    rank = begins.to(torch.int64).cumsum(0) - 1
    lengths = torch.zeros_like(rank).scatter_add(0, rank, torch.ones_like(rank))
    # Compute a length for each row first: the number of runs depends on the data.
    return kept, rank, lengths.index_select(0, rank)[kept]


def _inverse(rank: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """Reorders `rank` from the sorted order `order` to the original order of the elements."""
    return torch.zeros_like(rank).scatter(0, order, rank)


def _lexicographic_order(rows: torch.Tensor) -> torch.Tensor:
    """Returns the indices (i64 `[n]`) that sort rows `[n, m]`; equal rows keep their order."""
    count, width = rows.shape
    mine, other = rows.unsqueeze(1), rows.unsqueeze(0)
    column = torch.arange(width)
    first = torch.where(torch.ne(mine, other), column, width).amin(-1)
    before = torch.logical_and(other < mine, torch.eq(column, first.unsqueeze(-1))).any(-1)
    place = torch.arange(count)
    earlier = torch.logical_and(torch.eq(first, width), place < place.unsqueeze(1))
    rank = torch.logical_or(before, earlier).sum(-1)
    return torch.zeros_like(rank).scatter(0, rank, place)


def _nothing() -> torch.Tensor:
    return torch.empty((0,), dtype=torch.int64)
