"""Comparisons with NaN, which equals nothing and is the result of `maximum` and `minimum`."""

from __future__ import annotations

from typing import Any

import torch


def equal(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns whether elements are equal, bool; NotImplemented for integers."""
    if not (x.is_floating_point() or y.is_floating_point()):
        return NotImplemented
    return torch.logical_not(torch.ne(x, y))


def is_finite(x: torch.Tensor) -> torch.Tensor:
    """Returns whether each element is finite: neither infinite nor NaN."""
    if not x.is_floating_point():
        return torch.ones_like(x, dtype=torch.bool)
    return torch.logical_not(torch.logical_or(torch.isinf(x), torch.isnan(x)))


def maximum(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns the larger, elementwise; NaN where either is; NotImplemented for integers."""
    return _extreme(x, y, torch.gt)


def minimum(x: torch.Tensor, y: torch.Tensor) -> Any:
    """Returns the smaller, elementwise; NaN where either is; NotImplemented for integers."""
    return _extreme(x, y, torch.lt)


def fmax(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the larger, elementwise; the other one where one is NaN."""
    return _number(x, y, torch.gt)


def fmin(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Returns the smaller, elementwise; the other one where one is NaN."""
    return _number(x, y, torch.lt)


def _extreme(x: torch.Tensor, y: torch.Tensor, before: Any) -> Any:
    dtype = torch.result_type(x, y)
    if not dtype.is_floating_point:
        return NotImplemented
    x, y = x.to(dtype), y.to(dtype)
    return torch.where(torch.logical_or(before(x, y), torch.isnan(x)), x, y)


def _number(x: torch.Tensor, y: torch.Tensor, before: Any) -> torch.Tensor:
    dtype = torch.result_type(x, y)
    x, y = x.to(dtype), y.to(dtype)
    first = before(x, y)
    if dtype.is_floating_point:
        first = torch.logical_or(first, torch.isnan(y))
    return torch.where(first, x, y)
