"""Products of groups of rows with a matrix each, as one dense product."""

from __future__ import annotations

import torch


def grouped_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """A product for each group; group `g` ends before position `offs[g]` of the ragged dimension.

    Args:
        a, b: `[S, K]` and `[G, K, N]` (rows of `a` are grouped), `[G, M, K]` and `[K, S]` (columns
            of `b` are), `[M, S]` and `[S, N]` (what is summed over is), or `[G, M, K]` and
            `[G, K, N]` with no `offs`.

    Returns:
        `[S, N]`, `[M, S]`, `[G, M, N]` or `[G, M, N]`. Positions that belong to no group are zero.

    What does not belong to a group is masked, so that shapes do not depend on the offsets: that
    costs G times the multiplications, but no copy of a matrix per row.
    """
    if offs is None:
        result = torch.bmm(a, b)
    elif a.dim() == 2 and b.dim() == 3:
        result = _grouped_rows(a, b, offs)
    elif a.dim() == 3:
        result = _grouped_rows(b.transpose(0, 1), a.transpose(1, 2), offs).transpose(0, 1)
    else:
        mask = _membership(offs, a.size(1)).transpose(0, 1).unsqueeze(1)
        grouped = torch.where(mask, a.unsqueeze(0), 0)
        result = torch.matmul(grouped, b.unsqueeze(0))
    if bias is not None:
        result = result + bias
    return result if out_dtype is None else result.to(out_dtype)


def _grouped_rows(rows: torch.Tensor, matrices: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    """`[S, K]`, `[G, K, N]` to `[S, N]`: each row stands in its group's part of a `[S, G·K]`."""
    groups, depth, width = matrices.shape
    mask = _membership(offs, rows.size(0)).unsqueeze(2)
    spread = torch.where(mask, rows.unsqueeze(1), 0).reshape(rows.size(0), groups * depth)
    return spread @ matrices.reshape(groups * depth, width)


def _membership(offs: torch.Tensor, size: int) -> torch.Tensor:
    """`[size, G]`: whether a position belongs to a group."""
    position = torch.arange(size).unsqueeze(1)
    ends = offs.to(torch.int64)
    starts = torch.nn.functional.pad(ends[:-1], (1, 0))
    return (position >= starts) & (position < ends)
