"""Medians and modes, from the order of the elements."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.indexing import positions_along

# The longest row that sorting by counting is fastest for.
_SHORT = 64


def median(x: torch.Tensor) -> Any:
    """Returns the lower median of all elements as a 0-d tensor; NaN if an element is NaN.

    Without elements, it returns NaN, or NotImplemented for integers.
    """
    return median_along(x.reshape(-1), 0)[0] if _has_elements(x) else _of_no_elements(x)


def nanmedian(x: torch.Tensor) -> Any:
    """Returns the lower median of all elements that are not NaN, as a 0-d tensor.

    Without elements, it returns NaN, or NotImplemented for integers.
    """
    return nanmedian_along(x.reshape(-1), 0)[0] if _has_elements(x) else _of_no_elements(x)


def median_along(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple:
    """Returns the lower median along `dim` and its index (i64).

    If a row has a NaN, the result is NaN and the index of the first one.
    """
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    # The order of equal elements and of NaN does not matter. `aten.sort` is faster for long rows.
    is_stable = not x.is_floating_point() or (isinstance(size, int) and size <= _SHORT)
    if is_stable:
        values, places = torch.sort(x, dim=dim, stable=True)
    else:
        values, places = torch.ops.aten.sort.default(x, dim)
    values, places = (part.narrow(dim, (size - 1) // 2, 1) for part in (values, places))
    if x.is_floating_point():
        wrong = torch.isnan(x)
        found = wrong.any(dim, True)
        first = torch.where(wrong, positions_along(x, dim), size).amin(dim, True)
        values = torch.where(found, torch.nan, values)
        places = torch.where(found, first, places)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def nanmedian_along(x: torch.Tensor, dim: int, keepdim: bool = False) -> tuple:
    """Computes `median_along` for the elements that are not NaN; NaN if there are none."""
    if not x.dim() or not x.is_floating_point():
        return median_along(x, dim, keepdim)
    # The sort puts NaN after all numbers.
    values, places = torch.sort(x, dim=dim, stable=True)
    count = torch.logical_not(torch.isnan(x)).sum(dim, True)
    middle = (count - 1).clamp(min=0) // 2
    values, places = (part.gather(dim, middle) for part in (values, places))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def mode(x: torch.Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Returns the smallest of the most frequent elements along `dim`, and its last index (i64).

    NaN is larger than all numbers, and each NaN is a distinct value. Eager returns the last index
    for rows of up to 16 elements, and any of the indices for longer rows. Returns NotImplemented if
    a row is empty.
    """
    if not x.dim():
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    if isinstance(size, int) and not size:
        return NotImplemented
    row = x.transpose(dim, -1)
    place = torch.arange(size)
    # Equal elements are neighbors. The sort puts NaN after all numbers.
    ordered = torch.sort(row, dim=-1, stable=True)[0]
    previous = ordered.index_select(-1, (place - 1).clamp(min=0))
    starts = torch.logical_or(torch.ne(ordered, previous), torch.eq(place, 0))
    count = place - torch.cummax(torch.where(starts, place, 0), -1)[0]
    # The first element that ends the longest run.
    value = ordered.gather(-1, count.argmax(-1, keepdim=True))
    # If the mode is NaN, all elements are NaN, and the index is 0.
    places = torch.where(torch.eq(row, value), place, 0).amax(-1, True)
    results = (part.transpose(dim, -1) for part in (value, places))
    return tuple(part if keepdim else part.squeeze(dim) for part in results)


def _has_elements(x: torch.Tensor) -> bool:
    return all(not isinstance(size, int) or size > 0 for size in x.shape)


def _of_no_elements(x: torch.Tensor) -> Any:
    return torch.full((), torch.nan, dtype=x.dtype) if x.is_floating_point() else NotImplemented
