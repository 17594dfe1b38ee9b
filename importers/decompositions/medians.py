"""Medians and modes, from the order of the elements."""

from __future__ import annotations

from typing import Any

import torch

# Longest row whose elements are all compared with each other.
_LONGEST = 4096


def median(x: torch.Tensor) -> Any:
    """The lower median of all elements, without dimensions; NaN where one is. Empty: left."""
    return median_along(x.reshape(-1), 0)[0] if _has_elements(x) else _of_nothing(x)


def nanmedian(x: torch.Tensor) -> Any:
    """The lower median of all elements that are not NaN, without dimensions. Empty: left."""
    return nanmedian_along(x.reshape(-1), 0)[0] if _has_elements(x) else _of_nothing(x)


def median_along(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple:
    """The lower median along `dim` and its place (i64); NaN, and its first place, where one is."""
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    values, places = torch.sort(x, dim=dim, stable=True)
    values, places = (part.narrow(dim, (size - 1) // 2, 1) for part in (values, places))
    if x.is_floating_point():
        wrong = torch.isnan(x)
        found = wrong.any(dim, True)
        first = torch.where(wrong, _numbers_along(x, dim), size).amin(dim, True)
        values = torch.where(found, torch.nan, values)
        places = torch.where(found, first, places)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def nanmedian_along(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple:
    """As `median_along`, of the elements that are not NaN; NaN where there is none."""
    if not x.dim() or not x.is_floating_point():
        return median_along(x, dim, keepdim)
    # NaN is behind all numbers.
    values, places = torch.sort(x, dim=dim, stable=True)
    count = torch.logical_not(torch.isnan(x)).sum(dim, True)
    middle = (count - 1).clamp(min=0) // 2
    values, places = (part.gather(dim, middle) for part in (values, places))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def mode(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The smallest of the most frequent elements along `dim`, and its last place (i64).

    NaN is larger than all numbers, and each one is another value. A row that is too long, or whose
    size is not known, is left.
    """
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    if not isinstance(size, int) or not 0 < size <= _LONGEST:
        return NotImplemented
    row = x.transpose(dim, -1)
    same = torch.eq(row.unsqueeze(-1), row.unsqueeze(-2))
    count = same.sum(-1).clamp(min=1)
    chosen = torch.eq(count, count.amax(-1, True))
    # Of those, the smallest one; each number is before NaN.
    order = torch.sort(row, dim=-1, stable=True)[1]
    is_first = chosen.gather(-1, order)
    place = torch.arange(size)
    first = torch.where(is_first, place, size).amin(-1, True)
    first = order.gather(-1, first.clamp(max=size - 1))
    value = row.gather(-1, first)
    last = torch.where(torch.eq(row, value), place, -1).amax(-1, True)
    places = torch.where(last < 0, first, last)
    results = (part.transpose(dim, -1) for part in (value, places))
    return tuple(part if keepdim else part.squeeze(dim) for part in results)


def _has_elements(x: torch.Tensor) -> bool:
    return all(not isinstance(size, int) or size > 0 for size in x.shape)


def _of_nothing(x: torch.Tensor) -> Any:
    return torch.full((), torch.nan, dtype=x.dtype) if x.is_floating_point() else NotImplemented


def _numbers_along(x: torch.Tensor, dim: int) -> torch.Tensor:
    """0, 1, 2, … along `dim`, i64, of a shape that broadcasts to that of `x`."""
    dim = dim % x.dim()
    return torch.arange(x.shape[dim]).reshape([-1] + [1] * (x.dim() - dim - 1))
