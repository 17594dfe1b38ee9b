"""Reductions over several dimensions, of tensors without dimensions, and of no elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from importers.decompositions.overloads import takes_overload


@takes_overload
def over_several(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
) -> torch.Tensor:
    """Computes `any` or `all` over several dimensions, one dimension at a time."""
    dtype = x.dtype if x.dtype == torch.uint8 else torch.bool
    axes = range(x.dim()) if dim is None else {axis % x.dim() for axis in dim}
    for axis in sorted(axes, reverse=True):
        x = overload.overloadpacket(x, axis, keepdim)
    # As in eager, the result for uint8 is uint8.
    return x.to(dtype)


def any_or_all(x: torch.Tensor, dim: int, keepdim: bool = False) -> Any:
    """Returns `any` or `all` of a tensor without dimensions; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    return torch.ne(x, 0).to(torch.uint8 if x.dtype == torch.uint8 else torch.bool)


@takes_overload
def of_booleans(overload: torch._ops.OpOverload, x: torch.Tensor) -> torch.Tensor:
    """Computes `_is_any_true` or `_is_all_true`."""
    return torch.any(x) if "any" in str(overload) else torch.all(x)


def extreme(x: torch.Tensor, dim: Sequence[int] = (), keepdim: bool = False) -> Any:
    """Returns `amax` or `amin` of a tensor without dimensions; NotImplemented for others."""
    return NotImplemented if x.dim() else x.clone()


def extreme_and_place(x: torch.Tensor, dim: int, keepdim: bool = False) -> Any:
    """Returns `max` or `min` of a tensor without dimensions; NotImplemented for others."""
    return NotImplemented if x.dim() else (x.clone(), torch.zeros((), dtype=torch.int64))


def product(
    x: torch.Tensor, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Any:
    """Returns `prod` of a tensor without dimensions; NotImplemented for others."""
    return NotImplemented if x.dim() else torch.prod(x, dtype=dtype)


def norm(
    x: torch.Tensor,
    ord: float = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Returns `linalg_vector_norm` of a tensor without dimensions; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    size = x.abs() if dtype is None else x.to(dtype).abs()
    return torch.ne(size, 0).to(size.dtype) if ord == 0 else size


@takes_overload
def of_no_elements(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
) -> Any:
    """Computes `var`, `std`, `var_mean` or `std_mean` of no elements: NaN.

    Returns NotImplemented for other calls.
    """
    axes = dim or range(x.dim())
    if not any(isinstance(x.shape[axis], int) and x.shape[axis] == 0 for axis in axes):
        return NotImplemented
    nothing = torch.full_like(x.sum(dim, keepdim=keepdim), torch.nan)
    if nothing.is_complex():
        nothing = nothing.real
    return (nothing, x.mean(dim, keepdim=keepdim)) if "mean" in str(overload) else nothing


def mean(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Returns the mean of integers or booleans in `dtype`; NotImplemented for other tensors."""
    if dtype is None or x.is_floating_point() or x.is_complex():
        return NotImplemented
    return x.to(dtype).mean(dim, keepdim)
