"""Rotations of pairs of columns, for Jacobi's methods.

A round rotates all of its pairs at once. In a round, each of n columns has a partner. A sweep has
n - 1 rounds (n, if n is odd), in which each column meets every other one, as in a round-robin
tournament.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from importers.decompositions.assertions import require
from importers.decompositions.complex_pair import Complex
from importers.decompositions.linear_algebra.loops import repeat_while
from importers.decompositions.linear_algebra.matrices import (
    Matrix,
    conjugate,
    magnitude,
    on_parts,
    scale_of,
    where,
)

# The most sweeps before an error. Ten suffice for any matrix of reasonable size.
_MOST_SWEEPS = 40


def normalized(a: Matrix, api_name: str) -> tuple[Matrix, torch.Tensor]:
    """Divides a matrix by its scale, so that no product overflows or underflows.

    Inserts a check that ends the call with an error if an element is NaN or infinite.

    Args:
        api_name: the function that the user calls, for the error.

    Returns:
        The matrix and its scale, `[..., 1, 1]`.
    """
    require(torch.isfinite(magnitude(a)), f"{api_name}: the matrix has NaN or infinity")
    scale = scale_of(a)
    return on_parts(torch.div, a, scale), scale


def repeat_sweeps(
    rotate: Callable[..., tuple[torch.Tensor, Sequence[Matrix]]],
    state: Sequence[Matrix],
    constants: Sequence[torch.Tensor],
    *,
    limit: float,
    api_name: str,
) -> list[Matrix]:
    """Runs sweeps of rotations until one finds each pair of columns orthogonal.

    Inserts a check that ends the call with an error if there are too many sweeps.

    Args:
        rotate: called with the number of the round (i64 `[]`), the state and the constants. Returns
            the largest inner product of a pair before the rotation, `[]`, and the new state.
        state: matrices; the columns of the first one are rotated.
        constants: tensors that do not change.
        limit: the largest inner product of columns that count as orthogonal.
        api_name: the function that the user calls, for the error.

    Returns:
        The last state.
    """
    rounds = rounds_of(state[0].shape[-1])

    def goes_on(number, sweep, worst, *_):
        return (sweep < _MOST_SWEEPS) & ((number != 0) | (worst > limit))

    def step(number, sweep, worst, *rest):
        now, new = rotate(number, *rest)
        worst = torch.where(number == 0, now, torch.maximum(worst, now))
        ends = number == rounds - 1
        return (
            torch.where(ends, 0, number + 1),
            torch.where(ends, sweep + 1, sweep),
            worst,
            *new,
        )

    zero = torch.zeros((), dtype=torch.int64)
    start = (zero, zero.clone(), torch.full((), 2 * limit, dtype=state[0].dtype))
    _, sweep, _, *last = repeat_while(goes_on, step, (*start, *state), constants)
    require(torch.lt(sweep, _MOST_SWEEPS), f"{api_name}: the algorithm does not converge")
    return last


def rounds_of(size: int) -> int:
    """Returns the number of rounds in a sweep over `size` columns."""
    return size - 1 if size % 2 == 0 else size


def partners(number: torch.Tensor, columns: torch.Tensor, size: int) -> torch.Tensor:
    """Returns the partner of each column in a round, i64 `[n]`; itself if it has none.

    Args:
        number: the number of the round, i64 `[]`.
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
    """Returns d and s, so that columns x - d x - s y and their partners' are orthogonal.

    c and s are the cosine and sine of the angle, and d is 1 - c. For a small angle, c would round
    to 1, and columns would grow with each rotation.

    Args:
        mine: the squared length of each column x, or the diagonal element, `[..., n]`.
        inner: the inner product `<x, y>` with its partner y, or the element at (x, y).
        partner, columns: the numbers of y and x.

    Returns:
        d, s, the magnitude of the inner product (0 without a partner), and `mine` of the partner.
    """
    other = torch.index_select(mine, -1, partner)
    first = columns < partner
    # Both columns of a pair have the same value, except for rounding errors. Average them, so that
    # both rotate by the same angle.
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
    """Replaces each column x of a matrix by x - d x - s y."""
    others = on_parts(torch.index_select, x, -1, partner)
    sine = on_parts(torch.unsqueeze, sine, -2)
    return x - (others * sine + x * less.unsqueeze(-2))
