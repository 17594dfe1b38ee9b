"""Cholesky factorization, and operators that use it."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.assertions import require
from importers.decompositions.linear_algebra.loops import repeat
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    adjoint,
    broadcast_batch,
    conjugate,
    identity,
    is_empty,
    joined,
    numbers,
    on_parts,
    picked,
    real,
    split,
    transpose,
    triangle,
    where,
    with_batch,
)
from importers.decompositions.linear_algebra.triangular import solve_triangle


def cholesky_ex(a: torch.Tensor, *, upper: bool = False, check_errors: bool = False) -> Any:
    """Computes `linalg_cholesky_ex`: the factor, and the first minor that is not positive (i32)."""
    if check_errors:
        return NotImplemented
    # Read only the triangle of the factor.
    given = split(a)
    matrix = triangle(adjoint(given) if upper else given, lower=True)
    factor, info = _factored(matrix)
    factor = triangle(factor, lower=True)
    return joined(adjoint(factor) if upper else factor), info.to(torch.int32)


def cholesky(a: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Computes `cholesky` of positive definite matrices, with a check that they are."""
    factor, info = cholesky_ex(a, upper=upper)
    require(torch.eq(info, 0), "cholesky: the matrix is not positive definite")
    return factor


def cholesky_solve(b: torch.Tensor, factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Computes `cholesky_solve`: X such that A X = B, from a factor of A."""
    batch = broadcast_batch(b, factor)
    if is_empty(b, factor):
        return b.new_zeros([*batch, *b.shape[-2:]])
    given = split(factor)
    lower = adjoint(given) if upper else given
    result = solve_triangle(lower, with_batch(split(b), batch), upper=False)
    return joined(solve_triangle(adjoint(lower), result, upper=True))


def cholesky_inverse(factor: torch.Tensor, upper: bool = False) -> torch.Tensor:
    """Computes `cholesky_inverse`: the inverse of a matrix, from its factor."""
    size = factor.shape[-1]
    return cholesky_solve(joined(identity(split(factor), size, size)), factor, upper)


def _factored(a: Matrix) -> tuple[Matrix, torch.Tensor]:
    """Returns the lower factor, with the upper triangle of `a`, and the info (i64)."""
    info = torch.zeros(a.shape[:-2], dtype=torch.int64)
    if is_empty(a):
        return a, info

    def step(k, a, info, rows, columns):
        column = picked(columns == k, a, -1)
        pivot = real(picked(rows == k, column, -2))
        # NaN is not positive.
        failed = (info == 0) & ~(pivot > 0)[..., 0, 0]
        info = torch.where(failed, k + 1, info)
        done = (info != 0).unsqueeze(-1).unsqueeze(-1)
        root = torch.sqrt(torch.where(pivot > 0, pivot, 1.0))
        factor = on_parts(torch.div, column, root)
        rest = (rows > k) & (columns > k)
        update = factor * conjugate(transpose(factor))
        result = where((columns == k) & (rows >= k), factor, where(rest, a - update, a))
        return where(done, a, result), info

    size = a.shape[-1]
    return tuple(repeat(size, step, (a, info), (numbers(a, -2), numbers(a, -1))))
