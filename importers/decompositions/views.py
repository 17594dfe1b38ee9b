"""Computes copies of views, and tensors with one of their views replaced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from importers.decompositions.indexing import positions_along


def copied(view: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a decomposition of `view_copy` and its relatives by the view itself.

    Values in MLIR have no memory, so a view and its copy are the same.
    """

    def copy(*args: Any, **kwargs: Any) -> Any:
        return view(*args, **kwargs)

    return copy


def narrow_copy(x: torch.Tensor, dim: int, start: int, length: int) -> torch.Tensor:
    """Returns `length` slices of `x` along `dim`, from `start` on."""
    return x.narrow(dim, start, length)


def split_with_sizes(x: torch.Tensor, sizes: Sequence[int], dim: int = 0) -> Any:
    """Splits `x` along `dim` into parts of sizes that depend on data; else NotImplemented."""
    if all(isinstance(size, int) for size in sizes):
        return NotImplemented
    parts, start = [], 0
    for size in sizes:
        parts.append(x.narrow(dim, start, size))
        start = start + size
    return parts


def diagonal_scatter(
    x: torch.Tensor, source: torch.Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> torch.Tensor:
    """Returns `x` with a diagonal of two of its dimensions replaced by `source`."""
    dim1, dim2 = dim1 % x.dim(), dim2 % x.dim()
    rows, columns = positions_along(x, dim1), positions_along(x, dim2)
    # Put the elements of `source` along dim1; they are broadcast along dim2.
    length = source.shape[-1]
    along = source.to(x.dtype).movedim(-1, _place_among_others(dim1, dim2)).unsqueeze(dim2)
    before, after = max(-offset, 0), x.shape[dim1] - length - max(-offset, 0)
    padding = [0, 0] * (x.dim() - dim1 - 1) + [before, after]
    along = torch.ops.aten.constant_pad_nd.default(along, padding, 0)
    return torch.where(torch.eq(rows + offset, columns), along, x)


def _place_among_others(dim: int, removed: int) -> int:
    """Returns the number of a dimension after `removed` is left out."""
    return dim - (removed < dim)
