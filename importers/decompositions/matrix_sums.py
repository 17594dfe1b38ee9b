"""Sums of a tensor and a matrix product."""

from __future__ import annotations

import torch


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
