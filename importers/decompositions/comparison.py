"""Comparisons with numbers in the dtype of the tensor, and of booleans as numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def compare_with_number(compare: Callable[..., torch.Tensor]) -> Callable[..., Any]:
    """Returns a comparison of `x` with a number of the same kind as its elements.

    An int becomes a float if `x` is floating point. If `x` is an integer tensor, an int wraps
    around to the range of its dtype, and a float makes `x` floating point, as in eager. Other calls
    return NotImplemented.
    """

    def comparison(x: torch.Tensor, number: float) -> Any:
        if isinstance(number, float) and not (x.is_floating_point() or x.is_complex()):
            return compare(x.to(torch.result_type(x, number)), number)
        if not isinstance(number, int) or x.dtype == torch.bool or x.is_complex():
            return NotImplemented
        if x.is_floating_point():
            return compare(x, float(number))
        limits = torch.iinfo(x.dtype)
        if limits.min <= number <= limits.max:
            return NotImplemented
        return compare(x, (number - limits.min) % (limits.max - limits.min + 1) + limits.min)

    return comparison


def compare_booleans_with_number(
    compare: Callable[[torch.Tensor, Any], torch.Tensor],
) -> Callable[..., Any]:
    """Returns a comparison of booleans, as numbers, with a number; others return NotImplemented."""

    def compared(x: torch.Tensor, number: Any) -> Any:
        if x.dtype != torch.bool:
            return NotImplemented
        if isinstance(number, bool):
            number = int(number)
        return compare(x.to(torch.result_type(x, number)), number)

    return compared


def compare_booleans_with_integers(
    compare: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[..., Any]:
    """Returns a comparison of booleans, as numbers, with numbers; others return NotImplemented."""

    def compared(x: torch.Tensor, y: torch.Tensor) -> Any:
        if (x.dtype == torch.bool) == (y.dtype == torch.bool):
            return NotImplemented
        dtype = torch.result_type(x, y)
        if dtype == torch.bool:
            return NotImplemented
        return compare(x.to(dtype), y.to(dtype))

    return compared


def isclose(
    x: torch.Tensor,
    y: torch.Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> torch.Tensor:
    """Returns whether the elements differ by at most `atol` + `rtol` |y|.

    NaN is close to nothing, or with `equal_nan` to NaN only.
    """
    if x.dtype == torch.bool:  # Eager compares booleans as floats, too.
        x, y = x.to(torch.float32), y.to(torch.float32)
    gap, allowed = (x - y).abs(), (y * rtol).abs() + atol
    near = torch.logical_and(torch.lt(gap, torch.inf), torch.le(gap, allowed))
    close = torch.logical_or(torch.eq(x, y), near)
    if equal_nan and x.is_floating_point():
        close = torch.logical_or(close, torch.logical_and(torch.isnan(x), torch.isnan(y)))
    return close
