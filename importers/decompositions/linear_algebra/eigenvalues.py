"""Eigenvalues and eigenvectors of Hermitian matrices, by Jacobi's method."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    adjoint,
    identity,
    is_empty,
    joined,
    numbers,
    on_parts,
    picked,
    real,
    split,
    squares,
    where,
)
from importers.decompositions.linear_algebra.rotations import (
    normalized,
    partners,
    repeat_sweeps,
    rotated,
    rotation,
)


def eigh(a: torch.Tensor, uplo: str = "L", compute_v: bool = True) -> Any:
    """Computes `_linalg_eigh`: eigenvalues in ascending order, and eigenvectors as columns."""
    given = split(a)
    given = adjoint(given) if uplo.upper() == "U" else given
    rows, columns = numbers(given, -2), numbers(given, -1)
    # Read only one triangle, and the real parts of the diagonal.
    matrix = where(rows > columns, given, adjoint(given))
    matrix = where(rows != columns, matrix, real(given))
    values, vectors = _diagonalized(matrix, compute_v)
    if not compute_v:
        return values.sort(-1).values, a.new_zeros([0])
    values, order = values.sort(-1)
    index = order.unsqueeze(-2).expand(vectors.shape)
    return values, joined(on_parts(lambda part: torch.gather(part, -1, index), vectors))


def _diagonalized(a: Matrix, compute_v: bool) -> tuple[torch.Tensor, Matrix]:
    """Returns unordered eigenvalues and eigenvectors; rotates off-diagonal elements to zero."""
    size = a.shape[-1]
    rows, columns = numbers(a, -2), numbers(a, -1)
    unit = identity(a, size, size)
    if is_empty(a) or size == 1:
        return torch.diagonal(real(a), 0, -2, -1).clone(), unit
    a, scale = normalized(a, "linalg.eigh")
    length = torch.sqrt(squares(a).sum((-2, -1))).unsqueeze(-1)
    length = torch.where(length == 0, 1.0, length)

    def rotate(number, a, *rest):
        *vectors, rows, columns, length = rest
        partner = partners(number, columns, size)
        inner = picked(columns == partner.unsqueeze(-1), a, -1)
        inner = on_parts(torch.squeeze, inner, -1)
        diagonal = real(picked(columns == rows, a, -1)).squeeze(-1)
        less, sine, inner, _ = rotation(diagonal, inner, partner, columns)
        turned = rotated(a, partner, less, sine)
        turned = adjoint(rotated(adjoint(turned), partner, less, sine))
        return (inner / length).amax(), (
            turned,
            *(rotated(v, partner, less, sine) for v in vectors),
        )

    a, *vectors = repeat_sweeps(
        rotate,
        (a, unit) if compute_v else (a,),
        (rows, columns, length),
        limit=torch.finfo(a.dtype).eps,
        api_name="linalg.eigh",
    )
    values = torch.diagonal(real(a), 0, -2, -1) * scale.squeeze(-1)
    return values, vectors[0] if vectors else unit
