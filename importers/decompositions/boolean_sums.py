"""Sums and reductions whose result is boolean: a sum is true if one of its terms is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

# The sums are computed in this dtype, which is wide enough for one term per element.
_COUNT = torch.int64


def scatter_add(x: torch.Tensor, dim: int, index: torch.Tensor, source: torch.Tensor) -> Any:
    """Computes `scatter_add` of booleans; returns NotImplemented for other dtypes."""
    if x.dtype != torch.bool:
        return NotImplemented
    return torch.scatter_add(x.to(_COUNT), dim, index, source.to(_COUNT)) != 0


def scatter_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    """Computes `scatter_reduce` of booleans; returns NotImplemented for other dtypes."""
    if x.dtype != torch.bool:
        return NotImplemented
    given = x.to(_COUNT), dim, index, source.to(_COUNT), reduce
    return torch.scatter_reduce(*given, include_self=include_self) != 0


def index_put(
    x: torch.Tensor,
    indices: Sequence[torch.Tensor | None],
    values: torch.Tensor,
    accumulate: bool = False,
) -> Any:
    """Computes `index_put` that accumulates booleans; returns NotImplemented for other calls."""
    if x.dtype != torch.bool or not accumulate:
        return NotImplemented
    return torch.ops.aten.index_put(x.to(_COUNT), indices, values.to(_COUNT), True) != 0


def total(
    x: torch.Tensor,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> Any:
    """Computes `sum` to a boolean; returns NotImplemented for other dtypes of the result."""
    if dtype != torch.bool:
        return NotImplemented
    return (x != 0).sum(dim, keepdim) != 0


def total_of_all(x: torch.Tensor, *, dtype: torch.dtype | None = None) -> Any:
    """Computes `sum` of all elements to a boolean; see `total`."""
    return total(x, dtype=dtype)
