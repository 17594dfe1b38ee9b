"""Matrix products of 8-bit integers, sums with matrix products, and bilinear forms.

A product of groups of rows with one matrix per group becomes one dense product.
"""

from __future__ import annotations

import torch

_EIGHT_BITS = (torch.int8, torch.uint8)


def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns `a @ b` of 8-bit integers `[n, k]` and `[k, m]`, or NotImplemented for others.

    The sum is in i32; the result wraps around.
    """
    if a.dtype not in _EIGHT_BITS:
        return NotImplemented
    return torch.mm(a.to(torch.int32), b.to(torch.int32)).to(a.dtype)


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Computes `mm` for batches of matrices."""
    if a.dtype not in _EIGHT_BITS:
        return NotImplemented
    return torch.bmm(a.to(torch.int32), b.to(torch.int32)).to(a.dtype)


def bilinear(
    x: torch.Tensor, y: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Computes x W y for each matrix W of `weight`, as `torch.nn.functional.bilinear` does.

    Args:
        x: `[..., i]`.
        y: `[..., j]`, with the same leading axes.
        weight: `[outputs, i, j]`.
        bias: `[outputs]`.
    """
    outputs, i, j = weight.shape
    rows = x.reshape(-1, i) @ weight.transpose(0, 1).reshape(i, outputs * j)
    products = rows.reshape(-1, outputs, j) * y.reshape(-1, 1, j)
    result = products.sum(-1).reshape(*x.shape[:-1], outputs)
    return result if bias is None else result + bias


def int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns `a @ b` of i8 `[n, k]` and `[k, m]`, in i32."""
    return torch.mm(a.to(torch.int32), b.to(torch.int32))


def addmv(
    x: torch.Tensor, matrix: torch.Tensor, vector: torch.Tensor, *, beta=1, alpha=1
) -> torch.Tensor:
    """Computes `beta * x + alpha * (matrix @ vector)`, of `[m]`, `[m, n]` and `[n]`.

    `x` is broadcast. As in eager, it is not read if `beta` is 0.
    """
    column = x.expand(matrix.shape[0]).unsqueeze(1)
    return torch.addmm(column, matrix, vector.unsqueeze(1), beta=beta, alpha=alpha).squeeze(1)


def addbmm(
    x: torch.Tensor, left: torch.Tensor, right: torch.Tensor, *, beta=1, alpha=1
) -> torch.Tensor:
    """Computes `beta * x + alpha * (left @ right).sum(0)`, of `[n, p]`, `[b, n, m]`, `[b, m, p]`.

    The sum over the batch is part of one matrix product with an inner size of b·m.
    """
    rows = left.transpose(0, 1).reshape(left.shape[1], -1)
    columns = right.reshape(-1, right.shape[-1])
    return torch.addmm(x, rows, columns, beta=beta, alpha=alpha)


def grouped_mm(
    a: torch.Tensor,
    b: torch.Tensor,
    offs: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    out_dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Computes one matrix product for each group.

    Group `g` ends before position `offs[g]` of the ragged dimension. Elements outside of a group
    are masked, so that shapes do not depend on the offsets. That costs G times the multiplications,
    but no copy of a matrix per row.

    Args:
        a, b: `[S, K]` and `[G, K, N]` (groups of rows of `a`), `[G, M, K]` and `[K, S]` (groups of
            columns of `b`), `[M, S]` and `[S, N]` (groups of the summed dimension), or `[G, M, K]`
            and `[G, K, N]` without `offs`.

    Returns:
        `[S, N]`, `[M, S]`, `[G, M, N]` or `[G, M, N]`. Positions that belong to no group are zero.
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
    """Multiplies each row of `[S, K]` with the matrix of its group in `[G, K, N]`.

    Each row is placed in the part of its group in a `[S, G·K]` matrix.
    """
    groups, depth, width = matrices.shape
    mask = _membership(offs, rows.size(0)).unsqueeze(2)
    spread = torch.where(mask, rows.unsqueeze(1), 0).reshape(rows.size(0), groups * depth)
    return spread @ matrices.reshape(groups * depth, width)


def _membership(offs: torch.Tensor, size: int) -> torch.Tensor:
    """Returns `[size, G]`: whether each position belongs to each group."""
    position = torch.arange(size).unsqueeze(1)
    ends = offs.to(torch.int64)
    starts = torch.nn.functional.pad(ends[:-1], (1, 0))
    return (position >= starts) & (position < ends)
