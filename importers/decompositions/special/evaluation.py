"""Evaluation of polynomials, Chebyshev series and functions in f64."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch


def in_f64(function: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """Wraps `function` to compute in f64 and to return eager's dtype.

    The arguments are tensors and numbers of any real types. For integers alone, the result has the
    default dtype. Returns NotImplemented for complex tensors.
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
    """Evaluates the polynomial with these coefficients, the highest power first."""
    first, *rest = coefficients
    value = torch.full_like(x, first)
    for coefficient in rest:
        value = value * x + coefficient
    return value


def quotient(coefficients: Sequence[Sequence[float]], x: torch.Tensor) -> torch.Tensor:
    """Evaluates the quotient of two polynomials."""
    above, below = (polynomial(each, x) for each in coefficients)
    return above / below


def chebyshev(coefficients: Sequence[float], x: torch.Tensor) -> torch.Tensor:
    """Evaluates the series of Chebyshev polynomials of x/2, the highest order first.

    The last coefficient counts half (Clenshaw's recurrence, as in Cephes).
    """
    first, second, *rest = coefficients
    behind, before = torch.full_like(x, first), x * first + second
    last = torch.zeros_like(x)
    for coefficient in rest:
        last, behind, before = behind, before, x * before - behind + coefficient
    return 0.5 * (before - last)
