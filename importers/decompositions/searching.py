"""Searches, and selection of elements by order or by a mask."""

from __future__ import annotations

import math
from typing import Any

import torch

# The maximum number of comparisons of elements with indices.
_MOST = 1 << 24


def kthvalue(x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """Returns the `k`-th smallest element along `dim` and its index, by a sort."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = torch.sort(x, dim)
    values, places = (part.narrow(dim, k - 1, 1) for part in (values, places))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def searchsorted(
    ordered: torch.Tensor,
    values: torch.Tensor,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: torch.Tensor | None = None,
) -> Any:
    """Counts the elements of `ordered` before each value, by a comparison of each pair.

    `ordered` has sequences along the last axis, or one sequence for all values.
    """
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    if values.dim():
        values, ordered = values.unsqueeze(-1), ordered.unsqueeze(-2)
    compare = torch.le if right or side == "right" else torch.lt
    # All elements are before NaN, but comparisons with NaN are false.
    before = torch.logical_or(compare(ordered, values), torch.ne(values, values))
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def masked_select(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Returns the elements of `x` where `mask` is true, both broadcast, in order."""
    x, mask = (part.reshape(-1) for part in torch.broadcast_tensors(x, mask))
    return torch.ops.aten.index.Tensor(x, [mask])


def nonzero(x: torch.Tensor) -> Any:
    """Returns the indices (i64 `[n, x.dim()]`) of elements that are not zero.

    Returns NotImplemented for real tensors with dimensions.
    """
    if x.is_complex():
        return torch.nonzero(x != 0)
    return NotImplemented if x.dim() else torch.nonzero(x.reshape(1))[:, :0]


def searchsorted_number(ordered: torch.Tensor, value: float, **options: Any) -> torch.Tensor:
    """Computes `searchsorted` of a number; the result has no dimensions."""
    dtype = torch.result_type(ordered, value)
    return torch.searchsorted(ordered.to(dtype), torch.full((), value, dtype=dtype), **options)


def nonzero_static(x: torch.Tensor, *, size: int, fill_value: int = -1) -> Any:
    """Returns the first `size` indices of nonzero elements (i64 `[size, x.dim()]`).

    `fill_value` follows if there are fewer. Each element is compared with each number of an index.
    Returns NotImplemented for unknown or large sizes.
    """
    count = math.prod(x.shape)
    if not isinstance(count, int) or size * count > _MOST:
        return NotImplemented
    if not size * count * x.dim():
        return torch.full((size, x.dim()), fill_value, dtype=torch.int64)
    flat = torch.ne(x.reshape(-1), 0)
    number, wanted = flat.to(torch.int64).cumsum(0) - 1, torch.arange(size)
    chosen = torch.logical_and(flat, torch.eq(number, wanted.unsqueeze(1)))
    place = torch.where(chosen, torch.arange(count), 0).sum(1)
    columns: list[torch.Tensor] = []
    for extent in reversed(x.shape):
        columns.insert(0, place % extent)
        place = place // extent
    found = (wanted < flat.sum()).unsqueeze(1)
    return torch.where(found, torch.stack(columns, 1), fill_value)
