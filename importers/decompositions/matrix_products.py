"""Matrix products of 8-bit integers, and sums with matrix products."""

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
