"""Polynomials, Chebyshev series and the types that special functions are computed in."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch


def in_f64(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """`function` of tensors that are converted to f64, with eager's type of the result.

    Tensors and numbers of any real types; of integers alone, the result has the default dtype.
    Complex tensors are left.
    """

    @functools.wraps(function)
    def computed(*values: Any) -> Any:
        dtype = values[0].dtype if len(values) == 1 else torch.result_type(*values)
        if dtype.is_complex:
            return NotImplemented
        if not dtype.is_floating_point:
            dtype = torch.get_default_dtype()
        return function(*(_wide(value) for value in values)).to(dtype)

    return computed


def _wide(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        return value.to(torch.float64)
    return torch.full((), value, dtype=torch.float64)


def polynomial(coefficients: Sequence[float], x: torch.Tensor) -> torch.Tensor:
    """The polynomial with these coefficients, the highest power's first."""
    first, *rest = coefficients
    value = torch.full_like(x, first)
    for coefficient in rest:
        value = value * x + coefficient
    return value


def quotient(coefficients: Sequence[Sequence[float]], x: torch.Tensor) -> torch.Tensor:
    """The quotient of two polynomials."""
    above, below = (polynomial(each, x) for each in coefficients)
    return above / below


def chebyshev(coefficients: Sequence[float], x: torch.Tensor) -> torch.Tensor:
    """The series of Chebyshev polynomials of x/2, the highest order's coefficient first.

    The last coefficient counts half (Clenshaw's recurrence, as in Cephes).
    """
    first, second, *rest = coefficients
    behind, before = torch.full_like(x, first), x * first + second
    last = torch.zeros_like(x)
    for coefficient in rest:
        last, behind, before = behind, before, x * before - behind + coefficient
    return 0.5 * (before - last)
