"""The matrix exponential."""

from __future__ import annotations

import torch

from importers.decompositions.linear_algebra.loops import repeat, repeat_while
from importers.decompositions.linear_algebra.matrices import (
    identity,
    is_empty,
    joined,
    magnitude,
    on_parts,
    split,
    where,
)

# The number of terms of the series. For a norm of 1, the rest is far below the last digit.
_TERMS = {torch.float64: 18, torch.float32: 12}


def matrix_exp(a: torch.Tensor) -> torch.Tensor:
    """Computes `linalg_matrix_exp` by scaling and squaring.

    The series is that of the matrix divided by a power of two.
    """
    if is_empty(a):
        return a.clone()
    given = a.to(torch.float32) if a.dtype in (torch.bfloat16, torch.float16) else a
    matrix = split(given)
    size = a.shape[-1]
    norm = magnitude(matrix).sum(-2, keepdim=True).amax(-1, keepdim=True)
    finite = torch.isfinite(norm)
    halvings = torch.ceil(torch.log2(torch.clamp(norm, min=1.0)))
    halvings = torch.where(finite, halvings, 0.0)
    matrix = on_parts(torch.mul, matrix, torch.exp2(-halvings))
    unit = identity(matrix, size, size)
    terms = _TERMS[norm.dtype]

    def term(k, result, matrix, unit):
        return (unit + on_parts(torch.div, matrix @ result, (terms - k).to(unit.dtype)),)

    (result,) = repeat(terms, term, (unit,), (matrix, unit))
    halvings = halvings.to(torch.int64)

    def remain(most, _result, _left):
        return most > 0

    def squared(_most, result, left):
        left = left - 1
        result = where(left >= 0, result @ result, result)
        return left.amax(), result, left

    _, result, _ = repeat_while(remain, squared, (halvings.amax(), result, halvings))
    return joined(result).to(a.dtype)
