"""Running extremes, sums, products, and logarithms of sums of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from importers.decompositions.indexing import positions_along
from importers.decompositions.numbers import REDUCED_FLOATS
from importers.decompositions.overloads import takes_overload
from importers.decompositions.scan import Combine, scan


def cummax(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the running maximum along `dim` and its last index (i64); NaN is the largest."""
    return _running(x, dim, torch.ge)


def cummin(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the running minimum along `dim` and its last index (i64); NaN is the smallest."""
    return _running(x, dim, torch.le)


def _running(x: torch.Tensor, dim: int, replaces: Any) -> tuple[torch.Tensor, torch.Tensor]:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    if x.dtype == torch.bool:
        # torch-mlir orders booleans as if True were -1.
        values, places = _running(x.to(torch.int8), dim, replaces)
        return values != 0, places
    places = torch.zeros_like(x, dtype=torch.int64) + positions_along(x, dim)
    values, places = scan(_extreme(replaces), (x.clone(), places), dim)
    return values, places


def _extreme(replaces: Any) -> Combine:
    """Returns a function that combines two pairs of value and position, for `scan`.

    The function returns the later pair if `replaces(later value, earlier value)`, or if the later
    value is NaN.
    """

    def combine(earlier: Any, later: Any) -> tuple[torch.Tensor, torch.Tensor]:
        (value, place), (later_value, later_place) = earlier, later
        is_replaced = replaces(later_value, value)
        if value.is_floating_point():
            is_replaced = torch.logical_or(is_replaced, torch.isnan(later_value))
        return (
            torch.where(is_replaced, later_value, value),
            torch.where(is_replaced, later_place, place),
        )

    return combine


@takes_overload
def converted(
    overload: torch._ops.OpOverload, x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None
) -> Any:
    """Computes `cumsum` or `cumprod` with a `dtype` or without dimensions."""
    if dtype is None:
        if x.dim():
            return NotImplemented
        dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    x = x.clone() if x.dtype == dtype else x.to(dtype)
    # The sum or product of integers is computed in i64.
    return overload(x, dim).to(dtype) if x.dim() else x


def logcumsumexp(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns log(e^x0 + ... + e^xi) along `dim` for each i; NaN from the first NaN on."""
    if x.dtype in REDUCED_FLOATS:
        return torch.logcumsumexp(x.float(), dim).to(x.dtype)
    return scan(_added, (x.clone(),), dim)[0] if x.dim() else x.clone()


def _added(
    earlier: Sequence[torch.Tensor], later: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, ...]:
    return (torch.logaddexp(earlier[0], later[0]),)
