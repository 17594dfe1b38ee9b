"""QR factorization by Householder reflections, and products of reflections."""

from __future__ import annotations

import torch

from importers.decompositions.linear_algebra.loops import repeat
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    adjoint,
    conjugate,
    divided,
    identity,
    imaginary,
    is_empty,
    joined,
    largest_part,
    numbers,
    on_parts,
    picked,
    real,
    split,
    squares,
    total,
    where,
)


def geqrf(a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `geqrf`: R with the vectors of the reflections below it, and their factors."""
    factors, tau = reflections(split(a))
    return joined(factors), joined(tau)


def qr(a: torch.Tensor, mode: str = "reduced") -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `linalg_qr`."""
    factors, tau = reflections(split(a))
    rows, columns = a.shape[-2:]
    rank = min(rows, columns)
    kept = rows if mode == "complete" else rank
    upper = on_parts(lambda part: torch.triu(part[..., :kept, :]), factors)
    if mode == "r":
        return a.new_zeros([0]), joined(upper)
    vectors = on_parts(lambda part: part[..., :rank], factors)
    return joined(product(vectors, tau, identity(factors, rows, kept))), joined(upper)


def householder_product(vectors: torch.Tensor, tau: torch.Tensor) -> torch.Tensor:
    """Computes `linalg_householder_product`: the first columns of the product of reflections."""
    given = split(vectors)
    return joined(product(given, split(tau), identity(given, *vectors.shape[-2:])))


def ormqr(
    vectors: torch.Tensor,
    tau: torch.Tensor,
    other: torch.Tensor,
    left: bool = True,
    transpose: bool = False,
) -> torch.Tensor:
    """Computes `ormqr`: multiplies a matrix by the product of reflections, or by its adjoint.

    The product is on the left or on the right of the matrix.
    """
    matrix = split(other)
    if not left:
        # C Q = (Q^H C^H)^H
        matrix, transpose = adjoint(matrix), not transpose
    result = product(split(vectors), split(tau), matrix, transpose)
    return joined(result if left else adjoint(result))


def reflections(a: Matrix) -> tuple[Matrix, Matrix]:
    """Returns R with the vectors below it, `[..., m, n]`, and the factors `[..., k]`.

    The format is that of LAPACK's `geqrf`.
    """
    rank = min(a.shape[-2:])
    tau = on_parts(lambda part: part.new_zeros([*part.shape[:-2], rank]), a)
    if is_empty(a):
        return a, tau

    def step(k, a, tau, rows, columns, places):
        column = picked(columns == k, a, -1)
        alpha = picked(rows == k, column, -2)
        below = where(rows > k, column, 0.0)
        # Scale, so that no square overflows or underflows.
        scale = largest_part(where(rows >= k, column, 0.0)).amax(-2, keepdim=True)
        scale = torch.where(scale == 0, 1.0, scale)
        below, first = (on_parts(torch.div, part, scale) for part in (below, alpha))
        lengths = squares(below).sum(-2, keepdim=True)
        nothing = (lengths == 0) & (imaginary(alpha) == 0)
        length = torch.sqrt(lengths + squares(first))
        beta = torch.where(real(first) >= 0, -length, length)
        safe = torch.where(nothing, 1.0, beta)
        factor = where(~nothing, on_parts(torch.div, beta - first, safe), 0.0)
        # `below` is zero where no reflection is needed.
        vector = divided(below, where(~nothing, first - beta, 1.0))
        reflector = where(rows != k, vector, 1.0)
        products = total(conjugate(reflector) * a, -2)
        updated = a - reflector * (conjugate(factor) * products)
        diagonal = where(nothing, alpha, beta * scale)
        result = where(
            columns == k,
            where(rows > k, vector, where(rows == k, diagonal, a)),
            where((columns > k) & (rows >= k), updated, a),
        )
        return result, where(places == k, on_parts(torch.squeeze, factor, -1), tau)

    constants = (numbers(a, -2), numbers(a, -1), torch.arange(rank))
    return tuple(repeat(rank, step, (a, tau), constants))


def product(vectors: Matrix, tau: Matrix, matrix: Matrix, adjoint: bool = False) -> Matrix:
    """Multiplies `matrix` from the left by the product of reflections, or by its adjoint.

    Args:
        vectors: `[..., m, n]`. Only the part below the diagonal is read.
        tau: `[..., k]`, the factors of the reflections in the first k columns.
        matrix: `[..., m, l]`.
    """
    count = tau.shape[-1]
    if is_empty(matrix, tau):
        return matrix

    def step(k, matrix, vectors, tau, rows, columns, places, last):
        # The first reflection is the outermost factor.
        place = k if adjoint else last - k
        column = picked(columns == place, vectors, -1)
        vector = where(rows != place, where(rows > place, column, 0.0), 1.0)
        factor = picked(places == place, tau, -1)
        factor = on_parts(torch.unsqueeze, conjugate(factor) if adjoint else factor, -1)
        return (matrix - vector * (factor * total(conjugate(vector) * matrix, -2)),)

    places = torch.arange(count)
    constants = (vectors, tau, numbers(matrix, -2), numbers(vectors, -1), places, places.amax())
    return repeat(count, step, (matrix,), constants)[0]
