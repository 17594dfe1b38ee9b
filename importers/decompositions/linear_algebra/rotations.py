"""Rotations of pairs of columns, all pairs of a round at once, as Jacobi's methods need.

In a round, each of n columns has a partner. After n - 1 rounds (n, if that is odd), a sweep, each
has met every other one: the schedule of a round-robin tournament.
"""

from __future__ import annotations

import torch

from importers.decompositions.complex_pair import Complex
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    conjugate,
    magnitude,
    on_parts,
    where,
)

# Sweeps until it is given up; ten suffice for any matrix of reasonable size.
MOST_SWEEPS = 40


def rounds_of(size: int) -> int:
    """The number of rounds in a sweep over so many columns."""
    return size - 1 if size % 2 == 0 else size


def partners(number: torch.Tensor, columns: torch.Tensor, size: int) -> torch.Tensor:
    """Whom each column meets in a round, i64 `[n]`; itself where it is left over.

    Args:
        number: of the round, i64 `[]`.
        columns: 0, 1, 2, …, i64 `[n]`.
    """
    rounds = rounds_of(size)
    other = number - columns
    other = torch.where(other < 0, other + rounds, other)
    if size % 2:
        return other
    # The last column meets the one that would be its own partner.
    fixed = columns == rounds
    alone = (other == columns) & ~fixed
    met = torch.where(alone, columns, 0).sum()
    return torch.where(fixed, met, torch.where(alone, rounds, other))


def rotation(
    mine: torch.Tensor, inner: Matrix, partner: torch.Tensor, columns: torch.Tensor
) -> tuple[torch.Tensor, Matrix, torch.Tensor, torch.Tensor]:
    """Numbers d and s, so that columns x - d x - s y and their partners' are orthogonal.

    With c and s, cosine and sine of the angle, d is 1 - c. For a small angle, c would be rounded to
    1, and columns would grow with each rotation.

    Args:
        mine: squared length of each column x, or diagonal element, `[..., n]`.
        inner: inner product `<x, y>` with its partner y, or the element at (x, y).
        partner, columns: the numbers of y and x.

    Returns:
        d, s, the magnitude of the inner product (0 without a partner), and `mine` of the partner.
    """
    other = torch.index_select(mine, -1, partner)
    first = columns < partner
    # The same for both of a pair, but for rounding errors: made the same, so that they turn alike.
    theirs = conjugate(on_parts(torch.index_select, inner, -1, partner))
    inner = where(partner != columns, (inner + theirs) * 0.5, 0.0)
    size = magnitude(inner)
    none = size == 0
    safe = torch.where(none, 1.0, size)
    slope = (other - mine) / (2.0 * safe)
    positive = (slope > 0) | ((slope == 0) & first)
    tangent = 1.0 / (slope.abs() + torch.sqrt(1.0 + slope * slope))
    tangent = torch.where(none, 0.0, torch.where(positive, tangent, -tangent))
    cosine = 1.0 / torch.sqrt(1.0 + tangent * tangent)
    sine = tangent * cosine
    less = sine * sine / (1.0 + cosine)
    if isinstance(inner, Complex):
        return less, conjugate(on_parts(torch.div, inner, safe)) * sine, size, other
    return less, torch.where(inner < 0, -sine, sine), size, other


def rotated(x: Matrix, partner: torch.Tensor, less: torch.Tensor, sine: Matrix) -> Matrix:
    """Each column x of a matrix replaced by x - d x - s y."""
    others = on_parts(torch.index_select, x, -1, partner)
    sine = on_parts(torch.unsqueeze, sine, -2)
    return x - (others * sine + x * less.unsqueeze(-2))
