"""Systems of equations with triangular matrices."""

from __future__ import annotations

import torch

from importers.decompositions.linear_algebra.loops import repeat
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    broadcast_batch,
    divided,
    is_empty,
    joined,
    numbers,
    picked,
    split,
    transpose,
    where,
    with_batch,
)


def solve_triangular(
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> torch.Tensor:
    """Computes `linalg_solve_triangular`: X such that A X = B or X A = B.

    The other triangle of A is not read.
    """
    batch = broadcast_batch(a, b)
    if is_empty(a, b):
        return b.new_zeros([*batch, *b.shape[-2:]])
    matrix, right = split(a), split(b)
    if not left:
        matrix, right, upper = transpose(matrix), transpose(right), not upper
    result = solve_triangle(matrix, with_batch(right, batch), upper, unitriangular)
    return joined(result if left else transpose(result))


def triangular_solve(
    b: torch.Tensor,
    a: torch.Tensor,
    upper: bool = True,
    transpose_a: bool = False,
    unitriangular: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `triangular_solve`: X such that A X = B or A^T X = B, and a copy of A."""
    batch = broadcast_batch(a, b)
    a, b = a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    matrix = a.mT if transpose_a else a
    result = solve_triangular(matrix, b, upper=upper != transpose_a, unitriangular=unitriangular)
    return result, a.clone()


def solve_triangle(
    a: Matrix,
    b: Matrix,
    upper: bool,
    unit: bool = False,
    pivots: torch.Tensor | None = None,
) -> Matrix:
    """Solves A X = B for X, row by row.

    Args:
        a: `[..., n, n]`, with a batch that broadcasts to that of `b`. Only one triangle is read.
        b: `[..., n, m]`.
        unit: whether to take the diagonal as ones.
        pivots: i64 `[..., n]`, for an upper triangle: the rows, counted from 1, that the rows of X
            are exchanged with, last row first.
    """

    def step(k, x, a, rows, columns, last, *exchanges):
        place = last - k if upper else k
        column = picked(columns == place, a, -1)
        here = rows == place
        row = picked(here, x, -2)
        if not unit:
            row = divided(row, picked(here, column, -2))
        rest = (rows < place) if upper else (rows > place)
        x = where(here, row, where(rest, x - column * row, x))
        for pivots in exchanges:
            # Both rows are solved; later steps do not read them again.
            there = rows == picked(here, pivots, -2) - 1
            x = where(here, picked(there, x, -2), where(there, row, x))
        return (x,)

    rows, columns = numbers(b, -2), numbers(a, -1)
    exchanges = () if pivots is None else (pivots.unsqueeze(-1),)
    constants = (a, rows, columns, rows.amax(), *exchanges)
    return repeat(b.shape[-2], step, (b,), constants)[0]
