"""Scatters, gathers and masked scatters."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.decompositions.assertions import require
from importers.decompositions.overloads import takes_overload

# The reductions of `scatter`, and their names in `scatter_reduce`.
_REDUCTIONS = {"add": "sum", "multiply": "prod"}


@takes_overload
def normalize_scatter(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    """Scatters with a non-negative `dim`. Adds a dimension to operands that have none."""
    if x.dim() and index.dim():
        if dim >= 0:
            return NotImplemented
        return overload(x, dim % x.dim(), index, source, *args, **kwargs)
    if isinstance(source, torch.Tensor):
        source = _with_dimensions(source)
    result = overload(_with_dimensions(x), 0, _with_dimensions(index), source, *args, **kwargs)
    return result.reshape(x.shape)


def gather(x: torch.Tensor, dim: int, index: torch.Tensor, *, sparse_grad: bool = False) -> Any:
    """Gathers elements if the tensor or the index has no dimensions.

    Returns NotImplemented for other tensors.
    """
    if x.dim() and index.dim():
        return NotImplemented
    return _with_dimensions(x).gather(0, _with_dimensions(index)).reshape(index.shape)


def scatter_and_combine(
    x: torch.Tensor, dim: int, index: torch.Tensor, source: Any, *, reduce: str
) -> torch.Tensor:
    """Computes `scatter` with `reduce`, of a tensor or of a number."""
    if not isinstance(source, torch.Tensor):
        source = torch.full(index.shape, source, dtype=x.dtype)
    return torch.scatter_reduce(x, dim, index, source, _REDUCTIONS[reduce])


def mean_of_integers(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> Any:
    """Computes `scatter_reduce` to the mean of integers, rounded down.

    Returns NotImplemented for other calls.
    """
    if reduce != "mean" or x.is_floating_point() or x.is_complex():
        return NotImplemented
    own = torch.ones_like(x) if include_self else torch.zeros_like(x)
    counts = torch.scatter_add(own, dim, index, torch.ones_like(source)).clamp(min=1)
    sums = torch.scatter_reduce(x, dim, index, source, "sum", include_self=include_self)
    return torch.div(sums, counts, rounding_mode="floor")


def index_reduce(
    x: torch.Tensor,
    dim: int,
    index: torch.Tensor,
    source: torch.Tensor,
    reduce: str,
    *,
    include_self: bool = True,
) -> torch.Tensor:
    """Combines slices of `source` with those of `x` at `index`.

    `source` has the shape of `x` except along `dim`.
    """
    if not x.dim():
        x, source = x.reshape(1), source.reshape(1)
        return index_reduce(x, 0, index, source, reduce, include_self=include_self).reshape(())
    dim = dim % x.dim()
    shape = [1] * x.dim()
    shape[dim] = -1
    places = index.to(torch.int64).reshape(shape).expand(source.shape)
    return torch.scatter_reduce(x, dim, places, source, reduce, include_self=include_self)


def put(
    x: torch.Tensor, index: torch.Tensor, source: torch.Tensor, accumulate: bool = False
) -> torch.Tensor:
    """Returns `x` with its elements at row-major `index` replaced by `source`.

    With `accumulate`, `source` is added to them.
    """
    flat = x.reshape(-1)
    places, values = index.reshape(-1), source.reshape(-1)
    return torch.ops.aten.index_put(flat, [places], values, accumulate).reshape(x.shape)


def _with_dimensions(x: torch.Tensor) -> torch.Tensor:
    return x if x.dim() else x.reshape(1)


def masked_scatter(x: torch.Tensor, mask: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """Returns `x` (any shape) with the elements of `source`, in their order, where `mask` is True.

    `mask` is broadcast to the shape of `x`. If its last dimension has size 1, as for image features
    in a text, whole rows are gathered.
    """
    shape = torch.broadcast_shapes(x.shape, mask.shape)
    x, width = x.expand(shape), shape[-1] if shape else 1
    if any(statically_known_true(size == 0) for size in shape):
        return x.clone()  # nothing to fill
    if any(statically_known_true(size == 0) for size in source.shape):
        require(torch.logical_not(mask), "masked_scatter has no elements in its source")
        return x.clone()
    rows = (
        mask.dim() > 0
        and statically_known_true(mask.shape[-1] == 1)
        and statically_known_true(width != 1)
        and source.numel() % width == 0
    )
    if not rows:
        mask, width = mask.expand(shape).unsqueeze(-1), 1
    else:
        mask = mask.expand(*shape[:-1], 1)
    # The running count gives the index of the next element or row. Where the mask is False, any
    # index will do.
    counts = mask.reshape(-1).to(torch.int64)
    require(
        torch.le(counts.sum(), source.numel() // width),
        "masked_scatter has fewer elements in its source than places in its mask",
    )
    source = source.reshape(-1, width).to(x.dtype)
    if not statically_known_true(source.shape[0] > 0):
        # The gather reads an element for each position, even if the mask has no True.
        source = torch.cat([source, source.new_zeros(1, width)])
    position = counts.cumsum(0) - 1
    position = position.clamp(min=0, max=source.shape[0] - 1)
    values = source[position].reshape(shape)
    return torch.where(mask if rows else mask.squeeze(-1), values, x)
