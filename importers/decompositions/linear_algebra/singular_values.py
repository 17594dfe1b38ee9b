"""Singular values and vectors, by rotations that make columns orthogonal."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.linear_algebra.eigenvalues import eigh
from importers.decompositions.linear_algebra.householder import product, reflections
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    adjoint,
    conjugate,
    identity,
    is_empty,
    joined,
    numbers,
    on_parts,
    real,
    split,
    squares,
    total,
)
from importers.decompositions.linear_algebra.rotations import (
    normalized,
    partners,
    repeat_sweeps,
    rotated,
    rotation,
)


def svd(
    a: torch.Tensor,
    full_matrices: bool = False,
    compute_uv: bool = True,
    *,
    driver: str | None = None,
) -> Any:
    """Computes `_linalg_svd`: U, singular values in descending order, V^H."""
    rows, columns = a.shape[-2:]
    given = split(a)
    if rows < columns:
        v, values, u = _of_tall(adjoint(given), full_matrices, compute_uv)
    else:
        u, values, v = _of_tall(given, full_matrices, compute_uv)
    if not compute_uv:
        return a.new_zeros([0]), values, a.new_zeros([0])
    return joined(u), values, joined(adjoint(v))


def _of_tall(
    a: Matrix, full_matrices: bool, compute_uv: bool
) -> tuple[Matrix, torch.Tensor, Matrix]:
    """Returns U, the singular values and V of a matrix with no more columns than rows."""
    rows, columns = a.shape[-2:]
    kept = rows if full_matrices else columns
    if is_empty(a):
        values = real(a).new_zeros([*a.shape[:-2], columns])
        return identity(a, rows, kept), values, identity(a, columns, columns)
    w, v, scale = _orthogonal_columns(a, compute_uv)
    lengths = torch.sqrt(squares(w).sum(-2))
    if not compute_uv:
        return None, lengths.sort(-1, descending=True).values * scale, None
    lengths, order = lengths.sort(-1, descending=True)

    def ordered(part: torch.Tensor) -> torch.Tensor:
        return torch.gather(part, -1, order.unsqueeze(-2).expand(part.shape))

    # Reflections give orthogonal vectors even where columns are zero.
    factors, tau = reflections(on_parts(ordered, w))
    u = product(factors, tau, identity(a, rows, kept))
    sign = torch.diagonal(real(factors), 0, -2, -1)
    sign = torch.where(sign < 0, -1.0, torch.ones_like(sign)).unsqueeze(-2)
    if kept > columns:
        ones = sign.new_ones([*sign.shape[:-1], kept - columns])
        sign = torch.cat([sign, ones], -1)
    return u * sign, lengths * scale, on_parts(ordered, v)


def _orthogonal_columns(a: Matrix, compute_v: bool) -> tuple[Matrix, Matrix, torch.Tensor]:
    """Returns A V / scale, whose columns are orthogonal, V, and the scale (`[..., 1]`)."""
    rows, size = a.shape[-2:]
    unit = identity(a, size, size)
    a, scale = normalized(a, "linalg.svd")
    if size == 1:
        return a, unit, scale.squeeze(-1)
    accuracy = torch.finfo(a.dtype).eps

    def rotate(number, w, *rest):
        *vectors, columns = rest
        partner = partners(number, columns, size)
        others = on_parts(torch.index_select, w, -1, partner)
        inner = on_parts(torch.squeeze, total(conjugate(w) * others, -2), -2)
        mine = squares(w).sum(-2)
        less, sine, inner, other = rotation(mine, inner, partner, columns)
        # Columns that consist of rounding errors need not be orthogonal.
        least = accuracy * mine.amax(-1, keepdim=True)
        cosine = inner / torch.maximum(torch.sqrt(mine) * torch.sqrt(other), least)
        return cosine.amax(), tuple(rotated(x, partner, less, sine) for x in (w, *vectors))

    w, *vectors = repeat_sweeps(
        rotate,
        (a, unit) if compute_v else (a,),
        (numbers(a, -1),),
        limit=4 * math.sqrt(rows) * accuracy,
        api_name="linalg.svd",
    )
    return w, vectors[0] if vectors else unit, scale.squeeze(-1)


def pinv(
    a: torch.Tensor,
    *,
    atol: torch.Tensor | None = None,
    rtol: torch.Tensor | None = None,
    hermitian: bool = False,
) -> torch.Tensor:
    """Computes `linalg_pinv`: inverts the singular values that exceed the tolerances."""
    if is_empty(a):
        return a.new_zeros([*a.shape[:-2], a.shape[-1], a.shape[-2]])
    if hermitian:
        values, vectors = eigh(a)
        lengths, u = values.abs(), split(vectors)
        v = u
    else:
        left, values, right = svd(a)
        lengths, u, v = values, split(left), adjoint(split(right))
    absolute = None if atol is None else atol.unsqueeze(-1)
    if rtol is None:
        eps = max(a.shape[-2:]) * torch.finfo(a.dtype).eps
        # Eager's default tolerance applies only where `atol` is not positive.
        relative = eps if atol is None else torch.where(absolute > 0, 0.0, eps)
    else:
        relative = rtol.unsqueeze(-1)
    limit = relative * lengths.amax(-1, keepdim=True)
    if atol is not None:
        limit = torch.maximum(absolute, limit)
    kept = lengths > limit
    inverse = torch.where(kept, 1.0 / torch.where(kept, values, 1.0), 0.0)
    return joined((v * inverse.unsqueeze(-2)) @ adjoint(u))
