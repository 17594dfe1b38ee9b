"""Sorting by counting the elements that come before each element, and sorted top-k."""

from __future__ import annotations

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
            # The lowering takes True for -1.
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
