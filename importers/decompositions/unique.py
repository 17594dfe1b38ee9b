"""Distinct elements and rows, in the order of a sort or as they come."""

from __future__ import annotations

import math
from typing import Any

import torch

# Most comparisons of elements of rows with each other.
_MOST = 1 << 24


def unique(
    x: torch.Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The distinct elements of `x` in ascending order, where each element went, and how many.

    Returns:
        Values `[n]`, places (i64, x's shape) and counts (i64 `[n]`); what is not asked for is
        empty. Each NaN is another value.
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
    """`unique` without counts."""
    values, inverse, _ = unique(x, sorted, return_inverse)
    return values, inverse


def unique_along(
    x: torch.Tensor,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The distinct slices of `x` along `dim` in lexicographic order.

    Returns:
        As `unique`, of slices; all three. Where that takes too many comparisons, the call is left.
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
    """`x` without the elements, or slices along `dim`, that are equal to the one before.

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
    """Where runs of equal rows begin, the number of each row's run, and how long the runs are.

    Args:
        rows: in order.
        changes: bool, whether each row but the first is another than the one before.

    Returns:
        Places (i64 `[runs]`), numbers (i64 `[rows]`) and lengths (i64 `[runs]`).
    """
    size = rows.shape[0]
    # None of nothing.
    first = torch.arange(size)[:1] >= 0
    begins = torch.cat([first, changes])
    kept = torch.nonzero(begins).squeeze(-1)
    rank = begins.to(torch.int64).cumsum(0) - 1
    lengths = torch.zeros_like(rank).scatter_add(0, rank, torch.ones_like(rank))
    # Of each row first: how many runs there are depends on the data.
    return kept, rank, lengths.index_select(0, rank)[kept]


def _inverse(rank: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """`rank`, of the elements in that order, for the elements as they were."""
    return torch.zeros_like(rank).scatter(0, order, rank)


def _lexicographic_order(rows: torch.Tensor) -> torch.Tensor:
    """The indices (i64 `[n]`) that sort rows `[n, m]`, equal ones as they come."""
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
