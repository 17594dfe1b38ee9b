"""Reductions over several dimensions, of tensors without dimensions, and of no elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def over_several(
    over_one: Callable[[torch.Tensor, int, bool], torch.Tensor],
) -> Callable[..., torch.Tensor]:
    """Returns `any` or `all` over several dimensions, which reduces one dimension at a time."""

    def reduce(
        x: torch.Tensor, dim: Sequence[int] | None = None, keepdim: bool = False
    ) -> torch.Tensor:
        dtype = x.dtype if x.dtype == torch.uint8 else torch.bool
        axes = range(x.dim()) if dim is None else {axis % x.dim() for axis in dim}
        for axis in sorted(axes, reverse=True):
            x = over_one(x, axis, keepdim)
        # As in eager, the result for uint8 is uint8.
        return x.to(dtype)

    return reduce


def any_or_all(x: torch.Tensor, dim: int, keepdim: bool = False) -> Any:
    """Returns `any` or `all` of a tensor without dimensions; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    return torch.ne(x, 0).to(torch.uint8 if x.dtype == torch.uint8 else torch.bool)


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


def of_no_elements(operator: torch._ops.OpOverload) -> Callable[..., Any]:
    """Returns a decomposition of `var`, `std`, `var_mean` or `std_mean` of no elements: NaN.

    It returns NotImplemented for other calls.
    """

    def variance(
        x: torch.Tensor,
        dim: Sequence[int] | None = None,
        *,
        correction: float | None = None,
        keepdim: bool = False,
    ) -> Any:
        axes = dim or range(x.dim())
        if not any(isinstance(x.shape[axis], int) and x.shape[axis] == 0 for axis in axes):
            return NotImplemented
        nothing = torch.full_like(x.sum(dim, keepdim=keepdim), torch.nan)
        if nothing.is_complex():
            nothing = nothing.real
        return (nothing, x.mean(dim, keepdim=keepdim)) if "mean" in str(operator) else nothing

    return variance
