"""LU factorization with partial pivoting, and operators that use it."""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import is_contiguous_or_false

from importers.decompositions.linear_algebra.loops import repeat
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    broadcast_batch,
    conjugate,
    divided,
    identity,
    is_empty,
    joined,
    numbers,
    on_parts,
    picked,
    split,
    sum_of_parts,
    transpose,
    where,
    with_batch,
)
from importers.decompositions.linear_algebra.triangular import solve_triangle


def lu_factor(a: torch.Tensor, *, pivot: bool = True, check_errors: bool = False) -> Any:
    """Computes `linalg_lu_factor_ex`: both factors in one matrix, pivots and info (i32)."""
    if not pivot or check_errors:
        return NotImplemented
    lu, pivots = _factored(split(a))
    return joined(lu), pivots.to(torch.int32), _info(lu)


def lu(a: torch.Tensor, *, pivot: bool = True) -> Any:
    """Computes `linalg_lu`: the permutation and the factors."""
    if not pivot:
        return NotImplemented
    factors, pivots = _factored(split(a))
    return lu_unpack(joined(factors), pivots)


def lu_unpack(
    lu: torch.Tensor,
    pivots: torch.Tensor,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Computes `lu_unpack`: the permutation matrix and the factors; `[0]` if not requested."""
    p = lower = upper = lu.new_zeros([0])
    factors = split(lu)
    if unpack_data:
        rank = min(lu.shape[-2:])
        unit = identity(factors, lu.shape[-2], rank)
        left = on_parts(lambda part: torch.tril(part[..., :rank], -1), factors)
        lower = joined(left + unit)
        upper = joined(on_parts(lambda part: torch.triu(part[..., :rank, :]), factors))
    if unpack_pivots:
        order = _order(pivots, lu.shape[-2])
        p = (order.unsqueeze(-2) == numbers(factors, -2)).to(lu.dtype)
    return p, lower, upper


def lu_solve(
    lu: torch.Tensor,
    pivots: torch.Tensor,
    b: torch.Tensor,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> torch.Tensor:
    """Computes `linalg_lu_solve`: X such that A X = B or X A = B.

    A, or its adjoint, is given by its factors.
    """
    factors, right = split(lu), split(b)
    batch = broadcast_batch(lu, b)
    if is_empty(lu, b):
        return b.new_zeros([*batch, *b.shape[-2:]])
    conjugated = adjoint
    if not left:
        # A^T X^T = B^T; the adjoint of A is the transpose of its conjugate.
        right, adjoint = transpose(right), not adjoint
    factors, right = with_batch(factors, batch), with_batch(right, batch)
    if conjugated:
        factors = conjugate(factors)
    if adjoint:
        # A^T = U^T L^T P^T
        result = solve_triangle(transpose(factors), right, upper=False)
        rows = pivots.to(torch.int64)
        result = solve_triangle(transpose(factors), result, upper=True, unit=True, pivots=rows)
    else:
        order = _order(pivots, lu.shape[-2])
        result = _rows_moved(right, order)
        result = solve_triangle(factors, result, upper=False, unit=True)
        result = solve_triangle(factors, result, upper=True)
    return joined(result if left else transpose(result))


def solve(
    a: torch.Tensor, b: torch.Tensor, *, left: bool = True, check_errors: bool = False
) -> Any:
    """Computes `_linalg_solve_ex`: X such that A X = B or X A = B.

    It also returns the factors of A, the pivots and the info (i32).
    """
    if check_errors:
        return NotImplemented
    is_vector = b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])
    right = b.unsqueeze(-1) if is_vector else b
    result, lu, pivots = _solved(a, right, left)
    if is_vector:
        result = result.squeeze(-1)
    return result, lu, pivots.to(torch.int32), _info(split(lu))


def inverse(a: torch.Tensor, *, check_errors: bool = False) -> Any:
    """Computes `linalg_inv_ex`: the inverse, and info (i32)."""
    if check_errors:
        return NotImplemented
    size = a.shape[-1]
    unit = joined(identity(split(a), size, size))
    result, lu, _ = _solved(a, unit, left=True)
    return result, _info(split(lu))


def determinant(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Computes `_linalg_det`: the determinant, the factors and the pivots (i32).

    The factors are those of A or its transpose, see `_is_transposed`.
    """
    factors, pivots = _factored(split(a.mT if _is_transposed(a) else a))
    lu = joined(factors)
    result = torch.diagonal(lu, 0, -2, -1).prod(-1) * _parity(pivots).to(lu.dtype)
    return result, lu, pivots.to(torch.int32)


def sign_and_logarithm(
    a: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Computes `_linalg_slogdet`: the determinant's sign and the logarithm of its magnitude.

    It also returns the factors of A or its transpose (see `_is_transposed`), and the pivots (i32).
    """
    factors, pivots = _factored(split(a.mT if _is_transposed(a) else a))
    lu = joined(factors)
    diagonal = torch.diagonal(lu, 0, -2, -1)
    sign = torch.sgn(diagonal).prod(-1) * _parity(pivots).to(lu.dtype)
    return sign, diagonal.abs().log().sum(-1), lu, pivots.to(torch.int32)


def _is_transposed(a: torch.Tensor) -> bool:
    """Returns whether the determinant of A is computed from the factors of its transpose.

    PyTorch does so if A is in row-major order, and its formulas for gradients rely on it.
    """
    return is_contiguous_or_false(a) and not a.is_complex()


def _solved(
    a: torch.Tensor, b: torch.Tensor, left: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the solution, and the factors and pivots of A."""
    batch = broadcast_batch(a, b)
    matrix = split(a)
    if is_empty(a, b):
        lu, pivots = _factored(matrix)
        return b.new_zeros([*batch, *b.shape[-2:]]), joined(lu), pivots
    if batch != tuple(a.shape[:-2]):
        # The factors must have A's own batch, so do not factorize A with B.
        lu, pivots = _factored(matrix)
        return lu_solve(joined(lu), pivots, b, left=left), joined(lu), pivots
    right = with_batch(split(b), batch)
    size = a.shape[-1]
    if left:
        # With B as further columns of A, elimination turns it into L^-1 P^T B.
        both, pivots = _factored(_stacked([matrix, right], -1), size)
        lu = on_parts(lambda part: part[..., :size], both)
        result = on_parts(lambda part: part[..., size:], both)
        result = solve_triangle(lu, result, upper=True)
    else:
        # With B as further rows of A, elimination turns it into B U^-1.
        both, pivots = _factored(_stacked([matrix, right], -2), size)
        lu = on_parts(lambda part: part[..., :size, :], both)
        result = transpose(on_parts(lambda part: part[..., size:, :], both))
        result = solve_triangle(transpose(lu), result, upper=True, unit=True, pivots=pivots)
        result = transpose(result)
    return joined(result), joined(lu), pivots


def _stacked(matrices: list[Matrix], dim: int) -> Matrix:
    return split(torch.cat([joined(x) for x in matrices], dim))


def _factored(a: Matrix, size: int | None = None) -> tuple[Matrix, torch.Tensor]:
    """Returns both factors in one matrix, and the pivots (i64, counted from 1).

    Args:
        a: `[..., m, n]`.
        size: the number of rows and columns to factorize. Later ones are only eliminated.
    """
    rank = min(a.shape[-2:]) if size is None else size
    pivots = torch.zeros([*a.shape[:-2], rank], dtype=torch.int64)
    if is_empty(a):
        return a, pivots
    rows, columns, places = numbers(a, -2), numbers(a, -1), torch.arange(rank)
    eligible = rows < (a.shape[-2] if size is None else size)

    def step(k, a, pivots, rows, columns, places, eligible):
        column = picked(columns == k, a, -1)
        size = sum_of_parts(column)
        # NaN ranks below all candidates, but above rows that are done.
        size = torch.where(size == size, size, -0.5)
        size = torch.where((rows >= k) & eligible, size, -1.0)
        largest = size.amax(-2, keepdim=True)
        # Take the first of equal candidates. At least one row is equal, and `rows.sum()` is at
        # least as large as any row number.
        place = torch.where(size == largest, rows, rows.sum()).amin(-2, keepdim=True)
        here, there = rows == k, rows == place
        upper = picked(here, a, -2)
        pivot_row = picked(there, a, -2)
        pivot = picked(columns == k, pivot_row, -1)
        column = where(there, picked(here, column, -2), column)
        factor = where(eligible & (sum_of_parts(pivot) == 0), column, divided(column, pivot))
        swapped = where(here, pivot_row, where(there, upper, a))
        below = rows > k
        result = where(
            below & (columns > k),
            swapped - factor * pivot_row,
            where(below & (columns == k), factor, swapped),
        )
        return result, torch.where(places == k, place.squeeze(-1) + 1, pivots)

    return tuple(repeat(rank, step, (a, pivots), (rows, columns, places, eligible)))


def _info(lu: Matrix) -> torch.Tensor:
    """Returns the number of the first zero pivot, counted from 1; 0 if there is none (i32)."""
    if is_empty(lu):
        return torch.zeros(lu.shape[:-2], dtype=torch.int32)
    pivots = torch.diagonal(sum_of_parts(lu), 0, -2, -1)
    size = pivots.shape[-1]
    first = torch.where(pivots == 0, torch.arange(size), size).amin(-1)
    return torch.where(first == size, 0, first + 1).to(torch.int32)


def _parity(pivots: torch.Tensor) -> torch.Tensor:
    """Returns the determinant of the permutation, 1 or -1 (i64)."""
    swaps = (pivots != torch.arange(1, pivots.shape[-1] + 1)).to(torch.int64).sum(-1)
    return 1 - 2 * (swaps & 1)


def _order(pivots: torch.Tensor, size: int) -> torch.Tensor:
    """Returns the row of A that each row of L U comes from (i64 `[..., size]`)."""
    order = torch.arange(size).expand([*pivots.shape[:-1], size]).clone()
    if is_empty(order, pivots):
        return order

    def step(k, order, places, pivots, swaps):
        other = picked(swaps == k, pivots, -1) - 1
        here, there = places == k, places == other
        mine, its = picked(here, order, -1), picked(there, order, -1)
        return (torch.where(here, its, torch.where(there, mine, order)),)

    constants = (torch.arange(size), pivots.to(torch.int64), torch.arange(pivots.shape[-1]))
    return repeat(pivots.shape[-1], step, (order,), constants)[0]


def _rows_moved(x: Matrix, order: torch.Tensor) -> Matrix:
    index = order.unsqueeze(-1).expand(x.shape)
    return on_parts(lambda part: torch.gather(part, -2, index), x)
