"""Sorting by counting, sorted top-k, searches, and selection by order or by a mask."""

from __future__ import annotations

import math
from typing import Any

import torch

# The longest row that is sorted here. The work grows with the square of its length, like that of
# the bubble sort of torch-mlir and IREE. But it consists of comparisons and sums that can run in
# any order.
_LONGEST = 4096


def sort_stably(
    x: torch.Tensor, *, stable: bool | None = None, dim: int = -1, descending: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns values and indices (i64) along `dim`, as `torch.sort(x, stable=True)` does.

    NaN counts as larger than any number. `aten.sort` sorts rows that are too long.
    """
    if not _is_short(x, dim):
        if x.dtype == torch.bool:
            # The lowering orders True as -1.
            values, order = torch.ops.aten.sort.default(x.to(torch.int32), dim, descending)
            return values != 0, order
        return torch.ops.aten.sort.default(x, dim, descending)
    order = _order(x.transpose(dim, -1), descending).transpose(dim, -1)
    return x.gather(dim, order), order


def sort_integers(
    x: torch.Tensor, dim: int = -1, descending: bool = False
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sorts integers and keeps the order of equal elements.

    Returns NotImplemented for floating-point `x` and for rows of other integers that are too long.
    """
    if x.is_floating_point() or not (_is_short(x, dim) or x.dtype == torch.bool):
        return NotImplemented
    return sort_stably(x, dim=dim, descending=descending)


def _is_short(x: torch.Tensor, dim: int) -> bool:
    return x.dim() > 0 and isinstance(x.shape[dim], int) and x.shape[dim] <= _LONGEST


def _order(x: torch.Tensor, descending: bool) -> torch.Tensor:
    """Returns the indices that sort each row, i64, of the shape of `x`."""
    mine, other = x.unsqueeze(-1), x.unsqueeze(-2)
    before = other > mine if descending else other < mine
    equal = other == mine
    if x.is_floating_point():
        other_nan, mine_nan = other != other, mine != mine
        larger, smaller = (other_nan, mine_nan) if descending else (mine_nan, other_nan)
        before = before | (larger & ~smaller)
        equal = equal | (other_nan & mine_nan)
    place = torch.arange(x.shape[-1])
    rank = (before | (equal & (place < place.unsqueeze(1)))).sum(-1)
    # Invert the permutation: find the element with rank 0, 1, 2, …
    chosen = rank.unsqueeze(-2) == place.unsqueeze(1)
    return torch.where(chosen, place, 0).sum(-1)


def topk_in_order(
    x: torch.Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns values and indices (i64) of the `k` largest or smallest along `dim`, in order.

    Returns NotImplemented if `sorted` is set.
    """
    if sorted:
        return NotImplemented
    return torch.ops.aten.topk.default(x, k, dim, largest, True)


# The longest sequence whose elements are all compared with each value. A comparison takes 0.08 to
# 0.25 ns, and a step of a binary search 3 to 5 ns. But IREE compiles each step for 0.1 s.
_LONGEST_COMPARED = 1024
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
    """Counts the elements of `ordered` before each value.

    `ordered` has sequences along the last axis, or one sequence for all values.
    """
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    right = right or side == "right"
    dtype = torch.int32 if out_int32 else torch.int64
    if isinstance(ordered.shape[-1], int) and ordered.shape[-1] > _LONGEST_COMPARED:
        return _binary_search(ordered, values, right).to(dtype)
    if values.dim():
        values, ordered = values.unsqueeze(-1), ordered.unsqueeze(-2)
    compare = torch.le if right else torch.lt
    # All elements are before NaN, but comparisons with NaN are false.
    before = torch.logical_or(compare(ordered, values), torch.ne(values, values))
    return before.sum(-1, dtype=dtype)


def _binary_search(ordered: torch.Tensor, values: torch.Tensor, right: bool) -> torch.Tensor:
    """Computes `searchsorted` by halving the part of a sequence that a value belongs to.

    Reads the same elements as eager, so that the results for sequences with NaN are equal, too.
    """
    compare = torch.gt if right else torch.ge
    length = ordered.shape[-1]
    start = torch.zeros_like(values, dtype=torch.int64)
    end = start + length
    for _ in range(length.bit_length()):
        middle = (start + end) // 2
        # The parts of other values may be empty, and end behind the last element.
        place = middle.clamp(max=length - 1)
        if ordered.dim() == 1:
            element = ordered.index_select(0, place.reshape(-1)).reshape(place.shape)
        else:
            element = ordered.gather(-1, place)
        is_behind = torch.logical_not(compare(element, values))
        is_open = torch.lt(start, end)
        start = torch.where(torch.logical_and(is_open, is_behind), middle + 1, start)
        end = torch.where(torch.logical_and(is_open, torch.logical_not(is_behind)), middle, end)
    return start


def bucketize(x: torch.Tensor | float, boundaries: torch.Tensor, **options: Any) -> torch.Tensor:
    """Computes the index of the bucket of each value, or of a number; `boundaries` is sorted."""
    return torch.searchsorted(boundaries, x, **options)


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
