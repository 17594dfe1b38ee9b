"""LDL factorization with Bunch-Kaufman pivots of one or two rows."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.linear_algebra.loops import repeat, repeat_while
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    broadcast_batch,
    conjugate,
    divided,
    is_empty,
    joined,
    magnitude,
    numbers,
    on_parts,
    picked,
    real,
    split,
    sum_of_parts,
    total,
    transpose,
    where,
    with_batch,
)

# A diagonal element is a pivot if it is at least this fraction of the largest element below it.
_ALPHA = (1 + math.sqrt(17)) / 8


def ldl_factor(a: torch.Tensor, *, hermitian: bool = False, check_errors: bool = False) -> Any:
    """Computes `linalg_ldl_factor_ex`: L and D in the lower triangle, pivots and info (i32)."""
    if check_errors:
        return NotImplemented
    given = split(a)
    pivots = torch.zeros(a.shape[:-1], dtype=torch.int64)
    info = torch.zeros(a.shape[:-2], dtype=torch.int64)
    if is_empty(given):
        return a.clone(), pivots.to(torch.int32), info.to(torch.int32)
    rows, columns = numbers(given, -2), numbers(given, -1)
    if hermitian and a.is_complex():
        given = where(rows != columns, given, real(given))
    state = (torch.zeros([*a.shape[:-2], 1, 1], dtype=torch.int64), given, pivots, info)
    size = columns.amax() + 1

    def goes_on(k, a, pivots, info, rows, columns, size):
        return (k < size).any()

    def step(k, a, pivots, info, rows, columns, size):
        return _step(k, a, pivots, info, rows, columns, size, hermitian)

    _, factors, pivots, info = repeat_while(goes_on, step, state, (rows, columns, size))
    factors = where(rows >= columns, factors, 0.0)
    return joined(factors), pivots.to(torch.int32), info.to(torch.int32)


def _step(
    k: torch.Tensor,
    a: Matrix,
    pivots: torch.Tensor,
    info: torch.Tensor,
    rows: torch.Tensor,
    columns: torch.Tensor,
    size: torch.Tensor,
    hermitian: bool,
) -> tuple:
    """Eliminates one or two rows and columns, starting at k (i64 `[..., 1, 1]`)."""

    def mirror(x: Matrix) -> Matrix:
        return conjugate(transpose(x)) if hermitian else transpose(x)

    column = picked(columns == k, a, -1)
    pivot = picked(rows == k, column, -2)
    here = sum_of_parts(real(pivot) if hermitian else pivot)
    below = torch.where(rows > k, sum_of_parts(column), -1.0)
    largest = below.amax(-2, keepdim=True)
    place = torch.where(below == largest, rows, size).amin(-2, keepdim=True)
    most = torch.clamp(largest, min=0.0)
    # Row `place` of the remaining symmetric matrix, without its diagonal element.
    row = transpose(picked(rows == place, a, -2))
    side = where(rows < place, row, picked(columns == place, a, -1))
    other = torch.where((rows >= k) & (rows != place), sum_of_parts(side), 0.0)
    other = other.amax(-2, keepdim=True)
    diagonal = picked(rows == place, row, -2)
    diagonal = sum_of_parts(real(diagonal) if hermitian else diagonal)
    active = k < size
    nothing = ~(torch.maximum(here, most) > 0) | (here != here)
    stays = nothing | (here >= _ALPHA * most)
    stays = stays | (here >= _ALPHA * most * (most / torch.where(other == 0, 1.0, other)))
    double = active & ~stays & ~(diagonal >= _ALPHA * other)
    place = torch.where(stays, k, place)
    first = torch.where(double, k + 1, k)
    a = _swapped(a, first, place, k, rows, columns, hermitian)
    # For a pivot of one row, subtract x x^T / d from the rest.
    column = picked(columns == k, a, -1)
    pivot = picked(rows == k, column, -2)
    pivot = real(pivot) if hermitian else pivot
    safe = where(~nothing, pivot, 1.0)
    factor = where(rows > k, divided(column, safe), 0.0)
    single_update = factor * mirror(where(rows > k, column, 0.0))
    # For a pivot of two rows, subtract (x, y) D^-1 (x, y)^T from the rest.
    second = picked(columns == k + 1, a, -1)
    x, y = where(rows > k + 1, column, 0.0), where(rows > k + 1, second, 0.0)
    d11, d21 = pivot, picked(rows == k + 1, column, -2)
    d22 = picked(rows == k + 1, second, -2)
    d22 = real(d22) if hermitian else d22
    d12 = conjugate(d21) if hermitian else d21
    # Divide by the off-diagonal element, which is the largest.
    scale = magnitude(d21)
    safe_scale = torch.where(double, scale, 1.0)
    e11, e22, e21, e12 = (divided(d, safe_scale) for d in (d11, d22, d21, d12))
    determinant = e11 * e22 - e21 * e12
    determinant = where(double, real(determinant) if hermitian else determinant, 1.0)
    left = divided(divided(x * e22 - y * e21, determinant), safe_scale)
    right = divided(divided(y * e11 - x * e12, determinant), safe_scale)
    double_update = left * mirror(x) + right * mirror(y)
    rest_one = active & ~double & ~nothing & (rows > k) & (columns > k)
    rest_two = double & (rows > k + 1) & (columns > k + 1)
    result = where(rest_two, a - double_update, where(rest_one, a - single_update, a))
    result = where(active & ~double & ~nothing & (columns == k) & (rows > k), factor, result)
    result = where(double & (columns == k) & (rows > k + 1), left, result)
    result = where(double & (columns == k + 1) & (rows > k + 1), right, result)
    # Both rows of a pivot of two rows get negative numbers.
    one = (active & ~double & (columns == k)).squeeze(-2)
    two = (double & ((columns == k) | (columns == k + 1))).squeeze(-2)
    number = (place + 1).squeeze(-1)
    pivots = torch.where(two, -number, torch.where(one, number, pivots))
    failed = (active & nothing).squeeze(-1).squeeze(-1) & (info == 0)
    info = torch.where(failed, k.squeeze(-1).squeeze(-1) + 1, info)
    k = torch.where(active, torch.where(double, k + 2, k + 1), k)
    return k, result, pivots, info


def _swapped(
    a: Matrix,
    first: torch.Tensor,
    place: torch.Tensor,
    k: torch.Tensor,
    rows: torch.Tensor,
    columns: torch.Tensor,
    hermitian: bool,
) -> Matrix:
    """Exchanges rows and columns `first` and `place` in the remaining symmetric part."""
    flipped = conjugate(transpose(a)) if hermitian else transpose(a)
    whole = where(rows >= columns, a, flipped)
    moved = _exchanged(whole, rows, first, place, -2)
    moved = _exchanged(moved, columns, first, place, -1)
    return where((rows >= k) & (columns >= k), moved, a)


def ldl_solve(
    factors: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor, *, hermitian: bool = False
) -> torch.Tensor:
    """Computes `linalg_ldl_solve`: X such that A X = B, for a factorized A."""
    batch = broadcast_batch(factors, b)
    if is_empty(factors, b):
        return b.new_zeros([*batch, *b.shape[-2:]])
    matrix, right = with_batch(split(factors), batch), with_batch(split(b), batch)
    rows, columns = numbers(matrix, -2), numbers(matrix, -1)
    marks = pivots.to(torch.int64).expand(*batch, pivots.shape[-1]).unsqueeze(-1)
    # A row begins a pivot of two rows if its pivot is negative and the row before begins none.
    constants = (matrix, marks, rows, columns, rows.amax())
    paired = torch.zeros([*batch, 1, 1], dtype=torch.bool)
    starts = torch.zeros_like(marks)

    def forward(k, x, paired, starts, a, marks, rows, columns, last):
        mark = picked(rows == k, marks, -2)
        begins = (mark < 0) & ~paired
        ends = (mark < 0) & paired
        here = torch.where(begins, k + 1, k)
        there = torch.where(begins, -mark - 1, torch.where(ends, k, mark - 1))
        x = _exchanged(x, rows, here, there, -2)
        low = picked(columns == k, a, -1)
        low = where(rows > torch.where(begins, k + 1, k), low, 0.0)
        x = x - low * picked(rows == k, x, -2)
        starts = torch.where((rows == k) & begins, 1, starts)
        return x, begins, starts

    x, _, starts = repeat(b.shape[-2], forward, (right, paired, starts), constants)
    x = _diagonal_solved(matrix, x, starts, marks, hermitian)

    def backward(k, x, starts, a, marks, rows, columns, last):
        place = last - k
        mark = picked(rows == place, marks, -2)
        begins = picked(rows == place, starts, -2) == 1
        column = picked(columns == place, a, -1)
        low = where(rows > torch.where(begins, place + 1, place), column, 0.0)
        low = conjugate(low) if hermitian else low
        x = where(rows == place, x - total(low * x, -2), x)
        # Exchange the rows of a pivot of two rows after both are solved.
        here = torch.where(begins, place + 1, place)
        there = torch.where(begins, -mark - 1, torch.where(mark < 0, place, mark - 1))
        return (_exchanged(x, rows, here, there, -2),)

    (x,) = repeat(b.shape[-2], backward, (x,), (starts, *constants))
    return joined(x)


def _exchanged(
    x: Matrix, indices: torch.Tensor, here: torch.Tensor, there: torch.Tensor, axis: int
) -> Matrix:
    """Exchanges the rows (`axis` -2) or columns (-1) `here` and `there`."""
    one, other = picked(indices == here, x, axis), picked(indices == there, x, axis)
    return where(indices == here, other, where(indices == there, one, x))


def _diagonal_solved(
    a: Matrix, x: Matrix, starts: torch.Tensor, marks: torch.Tensor, hermitian: bool
) -> Matrix:
    """Returns D^-1 x, where D has blocks of one or two rows on the diagonal of `a`."""
    rows, columns = numbers(a, -2), numbers(a, -1)
    diagonal = picked(rows == columns, a, -1)
    diagonal = real(diagonal) if hermitian else diagonal
    lower = picked(rows == columns + 1, a, -1)  # in row i, the element (i, i - 1)
    begins = starts == 1
    ends = (marks < 0) & ~begins

    def shifted(value: Matrix, by: int) -> Matrix:
        return on_parts(torch.roll, value, by, -2)

    beside = where(ends, lower, where(begins, shifted(lower, -1), 1.0))
    across = conjugate(beside) if hermitian else beside
    other_diagonal = where(ends, shifted(diagonal, 1), shifted(diagonal, -1))
    other = where(ends, shifted(x, 1), shifted(x, -1))
    # For a row that begins a block: (d_other x - conj(beside) x_other) / det, scaled.
    scale = magnitude(beside)
    scale = torch.where(scale == 0, 1.0, scale)
    own, their, mine, cross = (
        divided(v, scale) for v in (diagonal, other_diagonal, beside, across)
    )
    determinant = own * their - mine * cross
    determinant = where(marks < 0, determinant, 1.0)
    facing = where(ends, mine, cross)
    both = divided(divided(their * x - facing * other, determinant), scale)
    single = divided(x, where(marks > 0, diagonal, 1.0))
    return where(marks < 0, both, single)
