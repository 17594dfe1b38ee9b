"""Places of elements, and elements at places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._prims_common import canonicalize_dim
from torch.fx.experimental.symbolic_shapes import statically_known_true


def of_a_number(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`argmax` or `argmin` of a tensor without dimensions, i64; others are left."""
    return NotImplemented if x.dim() else torch.zeros((), dtype=torch.int64)


def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The elements of `x` at the places `index`, of any shape."""
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])


def index_select(x: torch.Tensor, dim: int, index: torch.Tensor) -> Any:
    """Slices along an axis of size 1; others are left."""
    if x.dim() == 0 or not statically_known_true(x.shape[dim] == 1):
        return NotImplemented
    # `index` counts from the back below 0, which `index_select` refuses: it refuses the size.
    places = [None] * (dim % x.dim()) + [torch.where(index < 0, 1, index).reshape(-1)]
    return torch.ops.aten.index.Tensor(x, places)


def take_along_dim(x: torch.Tensor, indices: torch.Tensor, dim: int | None = None) -> torch.Tensor:
    """PyTorch's own takes sizes for integers, so those that depend on data stop it."""
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
    return torch.gather(x, dim, indices)


def without_negative_indices(overload: torch._ops.OpOverload) -> Callable[..., Any]:
    """A decomposition of `index_add` or `index_copy` by PyTorch's own one, which uses `index_put`.

    There, an index below 0 counts from the back. These two operators refuse it, so it becomes the
    size of the axis: `index_put` refuses that.
    """
    decomposition = decomposition_table[overload]

    def place(x: torch.Tensor, dim: int, index: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        size = x.shape[dim] if x.dim() else 1
        return decomposition(x, dim, torch.where(index < 0, size, index), *args, **kwargs)

    return place


def counting_from_the_back(overload: torch._ops.OpOverload) -> Callable[..., Any]:
    """A decomposition of `index_fill` by PyTorch's own one, which uses `index_copy`.

    `index_copy` refuses an index below 0. Here it counts from the back.
    """
    decomposition = decomposition_table[overload]

    def fill(x: torch.Tensor, dim: int, index: torch.Tensor, value: Any) -> Any:
        size = x.shape[dim] if x.dim() else 1
        return decomposition(x, dim, torch.where(index < 0, index + size, index), value)

    return fill
