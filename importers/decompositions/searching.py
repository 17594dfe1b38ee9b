"""Elements by their order or by a mask."""

from __future__ import annotations

from typing import Any

import torch


def kthvalue(x: torch.Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The `k`-th smallest element along `dim` and its place, by a sort."""
    if not x.dim():
        return NotImplemented
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
    """How many elements of `ordered` are before each value, counted one by one.

    Of sequences along the last axis, or of one for all values.
    """
    if sorter is not None:
        ordered = ordered.gather(-1, sorter)
    values = values.unsqueeze(-1)
    compare = torch.le if right or side == "right" else torch.lt
    # All are before NaN, with which comparisons are false.
    before = torch.logical_or(compare(ordered.unsqueeze(-2), values), torch.ne(values, values))
    return before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def masked_select(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """The elements of `x` where `mask` is true, both broadcast, in order."""
    x, mask = torch.broadcast_tensors(x, mask)
    return torch.ops.aten.index.Tensor(x, [mask])
