"""Running extremes, which compare each element with all before it; running sums and products."""

from __future__ import annotations

from typing import Any

import torch

# The longest row: the work grows with the square of its length.
_LONGEST = 4096


def cummax(x: torch.Tensor, dim: int) -> Any:
    """Returns the largest element so far along `dim` and its last index (i64); NaN is largest."""
    return _running(x, dim, torch.amax, -torch.inf)


def cummin(x: torch.Tensor, dim: int) -> Any:
    """Returns the smallest element so far along `dim` and its last index (i64); NaN is smallest."""
    return _running(x, dim, torch.amin, torch.inf)


def _running(x: torch.Tensor, dim: int, extreme: Any, neutral: float) -> Any:
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    size = x.shape[dim]
    if not isinstance(size, int) or size > _LONGEST:
        return NotImplemented
    if size == 0:
        return x.clone(), torch.empty_like(x, dtype=torch.int64)
    if not x.is_floating_point():
        limits = torch.iinfo(torch.int64 if x.dtype == torch.bool else x.dtype)
        neutral = limits.min if neutral < 0 else limits.max
    row = x.transpose(dim, -1).unsqueeze(-2)
    place = torch.arange(size)
    seen = place <= place.unsqueeze(1)
    values = extreme(torch.where(seen, row, neutral), -1, True)
    same = torch.eq(row, values)
    if x.is_floating_point():
        same = torch.logical_or(same, torch.logical_and(torch.isnan(row), torch.isnan(values)))
    places = torch.where(torch.logical_and(seen, same), place, -1).amax(-1)
    return values.squeeze(-1).to(x.dtype).transpose(dim, -1), places.transpose(dim, -1)


def converted(operator: torch._ops.OpOverload) -> Any:
    """Returns a decomposition of `cumsum` or `cumprod` with a `dtype` or without dimensions."""

    def running(x: torch.Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
        if dtype is None:
            if x.dim():
                return NotImplemented
            dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
        x = x.clone() if x.dtype == dtype else x.to(dtype)
        # The sum or product of integers is computed in i64.
        return operator(x, dim).to(dtype) if x.dim() else x

    return running
