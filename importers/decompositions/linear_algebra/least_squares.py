"""Least squares, by Householder reflections or by singular values."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.assertions import require
from importers.decompositions.linear_algebra.householder import product, reflections
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    adjoint,
    broadcast_batch,
    is_empty,
    joined,
    on_parts,
    split,
    squares,
    sum_of_parts,
    with_batch,
)
from importers.decompositions.linear_algebra.singular_values import svd
from importers.decompositions.linear_algebra.triangular import solve_triangle

# Eager's default on the CPU.
_DRIVER = "gelsy"


def lstsq(
    a: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> Any:
    """Computes `linalg_lstsq`: the solution, residuals, ranks and singular values.

    Results that eager leaves empty have the shape `[0]`.
    """
    driver = driver or _DRIVER
    rows, columns = a.shape[-2:]
    is_vector = _is_vector(a, b)
    right = b.unsqueeze(-1) if is_vector else b
    batch = broadcast_batch(a, right)
    values = squares(split(a)).new_zeros([0])
    if is_empty(a, right):
        solution = a.new_zeros([*batch, columns, right.shape[-1]])
        rest = squares(split(right.expand(*batch, *right.shape[-2:]))).sum(-2)
        rank = torch.zeros([*a.shape[:-2]], dtype=torch.int64)
        values = values.new_zeros([*a.shape[:-2], min(rows, columns)])
    elif driver == "gels":
        matrix = with_batch(split(a), batch)
        solution, rest = _by_reflections(matrix, with_batch(split(right), batch))
        solution, rank = joined(solution), None
    else:
        u, values, v = map(split, svd(a))
        if rcond is None:
            rcond = max(rows, columns) * torch.finfo(a.dtype).eps
        kept = values > rcond * values.amax(-1, keepdim=True)
        rank = kept.to(torch.int64).sum(-1)
        factor = torch.where(kept, 1.0 / torch.where(kept, values, 1.0), 0.0).unsqueeze(-1)
        solution = adjoint(v) @ ((adjoint(u) @ split(right)) * factor)
        rest = squares(split(right) - split(a) @ solution).sum(-2)
        solution = joined(solution)
        if driver != _DRIVER and rows > columns:
            require(torch.eq(rank, columns), "linalg.lstsq: a matrix is not of full rank")
    if is_vector:
        solution = solution.squeeze(-1)
    return (
        solution,
        rest if rows > columns and driver != _DRIVER else rest.new_zeros([0]),
        torch.zeros([0], dtype=torch.int64) if rank is None else rank,
        values if driver in ("gelsd", "gelss") else values.new_zeros([0]),
    )


def lstsq_shapes(
    a: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[torch.Tensor, ...]:
    """Returns tensors of the shapes and dtypes that `lstsq` returns."""
    driver = driver or _DRIVER
    rows, columns = a.shape[-2:]
    is_vector = _is_vector(a, b)
    right = b.unsqueeze(-1) if is_vector else b
    batch = broadcast_batch(a, right)
    real = a.real.dtype if a.is_complex() else a.dtype
    solution = [*batch, columns] if is_vector else [*batch, columns, right.shape[-1]]
    rest = [*batch, right.shape[-1]] if rows > columns and driver != _DRIVER else [0]
    values = [*a.shape[:-2], min(rows, columns)] if driver in ("gelsd", "gelss") else [0]
    rank = [0] if driver == "gels" else [*a.shape[:-2]]
    return (
        a.new_empty(solution),
        a.new_empty(rest, dtype=real),
        a.new_empty(rank, dtype=torch.int64),
        a.new_empty(values, dtype=real),
    )


def _is_vector(a: torch.Tensor, b: torch.Tensor) -> bool:
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])


def _by_reflections(a: Matrix, b: Matrix) -> tuple[Matrix, torch.Tensor]:
    """Returns the solution for a matrix of full rank, and the squared lengths of the residuals."""
    rows, columns = a.shape[-2:]
    wide = rows < columns
    vectors, tau = reflections(adjoint(a) if wide else a)
    rank = min(rows, columns)
    upper = on_parts(lambda part: part[..., :rank, :rank], vectors)
    diagonal = torch.diagonal(sum_of_parts(upper), 0, -2, -1)
    require(torch.gt(diagonal, 0), "linalg.lstsq: a matrix is not of full rank, as gels needs")
    if wide:
        result = solve_triangle(adjoint(upper), b, upper=False)
        result = on_parts(torch.nn.functional.pad, result, (0, 0, 0, columns - rows))
        return product(vectors, tau, result), squares(b).sum(-2)
    turned = product(vectors, tau, b, adjoint=True)
    result = solve_triangle(upper, on_parts(lambda part: part[..., :rank, :], turned), upper=True)
    rest = on_parts(lambda part: part[..., rank:, :], turned)
    return result, squares(rest).sum(-2)
