"""Operators that return indices or access elements by index."""

from __future__ import annotations

from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._prims_common import canonicalize_dim
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from importers.decompositions.assertions import require
from importers.decompositions.overloads import takes_overload


def index_without_dimensions(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """Computes `argmax` or `argmin` of a 0-d tensor: 0 (i64). NotImplemented for other tensors."""
    return NotImplemented if x.dim() else torch.zeros((), dtype=torch.int64)


@takes_overload
def triangle(
    overload: torch._ops.OpOverload,
    rows: int,
    columns: int,
    offset: int = 0,
    *,
    dtype: torch.dtype | None = None,
    **_options: Any,
) -> Any:
    """Returns the indices of a triangle in another dtype than i64; NotImplemented for i64."""
    if dtype in (None, torch.int64):
        return NotImplemented
    return overload(rows, columns, offset).to(dtype)


def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """Returns the elements of flattened `x` at `index`, in the shape of `index`."""
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


def index_select(x: torch.Tensor, dim: int, index: torch.Tensor) -> Any:
    """Returns slices along an axis of size 1, or of a tensor that may be empty.

    Returns NotImplemented for other tensors. Eager checks the indices of an empty tensor, too.
    """
    if x.dim() == 0:
        return NotImplemented
    size = x.shape[dim]
    if not all(statically_known_true(each != 0) for each in x.shape):
        require(torch.logical_and(index >= 0, index < size), "index out of range")
    elif not statically_known_true(size == 1):
        return NotImplemented
    # `index` counts negative numbers from the back, but `index_select` rejects them. Replace them
    # by the size, which `index` rejects.
    places = [None] * (dim % x.dim()) + [torch.where(index < 0, size, index).reshape(-1)]
    return torch.ops.aten.index.Tensor(x, places)


def select_scatter(x: torch.Tensor, source: torch.Tensor, dim: int, index: Any) -> Any:
    """Replaces the slice of `x` at an index that depends on data; NotImplemented for others."""
    if not isinstance(index, torch.SymInt) or not free_unbacked_symbols(index):
        return NotImplemented
    dim = canonicalize_dim(x.dim(), dim)
    size = x.shape[dim]
    place = torch.scalar_tensor(index, dtype=torch.int64)
    require(torch.logical_and(place >= -size, place < size), "index out of range")
    place = torch.where(place < 0, place + size, place)
    here = torch.arange(size).reshape(-1, *[1] * (x.dim() - dim - 1)) == place
    return torch.where(here, source.unsqueeze(dim).to(x.dtype), x)


def take_along_dim(x: torch.Tensor, indices: torch.Tensor, dim: int | None = None) -> torch.Tensor:
    """Gathers elements of `x` along `dim`.

    PyTorch's own decomposition requires integer sizes, so it fails for sizes that depend on data.
    """
    if dim is None:
        return torch.gather(x.reshape(-1), 0, indices.reshape(-1))
    torch._check(indices.dtype == torch.int64, lambda: "take_along_dim: indices must be int64")
    torch._check(
        x.ndim == indices.ndim,
        lambda: f"take_along_dim: input and indices have {x.ndim} and {indices.ndim} dimensions",
    )
    dim = canonicalize_dim(x.ndim, dim)
    others = torch.broadcast_shapes(
        *((*each.shape[:dim], *each.shape[dim + 1 :]) for each in (x, indices))
    )
    x, indices = (
        each.expand(*others[:dim], each.shape[dim], *others[dim:]) for each in (x, indices)
    )
    # Eager wraps indices around if `dim` is given.
    return torch.gather(x, dim, torch.remainder(indices, x.shape[dim]))


@takes_overload
def without_negative_indices(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Decomposes `index_add` and `index_copy` as PyTorch does, but rejects negative indices.

    PyTorch's decomposition uses `index_put`, which counts negative indices from the back. A
    negative index is replaced by the size of the axis, which `index_put` rejects.
    """
    size = x.shape[dim] if x.dim() else 1
    return decomposition_table[overload](
        x, dim, torch.where(index < 0, size, index), *args, **kwargs
    )


@takes_overload
def with_negative_indices(
    overload: torch._ops.OpOverload, x: torch.Tensor, dim: int, index: torch.Tensor, value: Any
) -> Any:
    """Decomposes `index_fill` as PyTorch does, with negative indices from the back.

    PyTorch's decomposition uses `index_copy`, which rejects negative indices.
    """
    size = x.shape[dim] if x.dim() else 1
    return decomposition_table[overload](x, dim, torch.where(index < 0, index + size, index), value)


def positions_along(x: torch.Tensor, dim: int) -> torch.Tensor:
    """Returns 0, 1, 2, … along `dim`, i64, in a shape that broadcasts to that of `x`."""
    dim = dim % x.dim()
    return torch.arange(x.shape[dim]).reshape([-1] + [1] * (x.dim() - dim - 1))
