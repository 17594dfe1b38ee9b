"""Operators about memory layout and views, which values in MLIR do not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from importers.decompositions.indexing import positions_along
from importers.decompositions.overloads import takes_overload


def empty_in_order(size: Sequence[int], stride: Sequence[int], **options: Any) -> torch.Tensor:
    """Returns an uninitialized tensor of `size`; ignores the requested memory layout."""
    return torch.ops.aten.empty.memory_format(size, **options)


def checked_at_capture(*_args: Any, **_kwargs: Any) -> None:
    """Does nothing: the asserted type, device and sizes were true when the program was traced."""


def copy_in_order(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """Returns a copy of `x`; ignores the requested strides."""
    return x.clone()


def scalar_tensor(value: float, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """Returns `value` as a tensor without dimensions."""
    return torch.full((), value, dtype=dtype, device=device)


def new_empty_in_order(
    x: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    *,
    dtype: torch.dtype | None = None,
    **_options: Any,
) -> torch.Tensor:
    """Returns an uninitialized tensor of `size`; ignores the requested memory layout."""
    return torch.empty(size, dtype=dtype or x.dtype)


def empty_permuted(
    size: Sequence[int], order: Sequence[int], *, dtype: torch.dtype | None = None, **_options: Any
) -> torch.Tensor:
    """Returns an uninitialized tensor of `size`; ignores the requested memory layout."""
    return torch.empty(size, dtype=dtype)


def resize(x: torch.Tensor, size: Sequence[int], *, memory_format: Any = None) -> Any:
    """Returns the first elements of a row-major `x` in another shape, filled up with 0.

    Returns NotImplemented for unknown sizes, and for tensors in another order, whose first elements
    depend on memory.
    """
    numbers = [*x.shape, *size]
    if not all(isinstance(number, int) for number in numbers) or not x.is_contiguous():
        return NotImplemented
    if memory_format not in (None, torch.contiguous_format, torch.preserve_format):
        return NotImplemented
    flat, count = x.reshape(-1), math.prod(size)
    more = count - flat.shape[0]
    if more > 0:
        flat = torch.cat([flat, torch.zeros((more,), dtype=x.dtype)])
    return flat[:count].reshape(list(size))


def resize_as(x: torch.Tensor, template: torch.Tensor, *, memory_format: Any = None) -> Any:
    """Resizes `x` to the shape of `template`."""
    return resize(x, template.shape, memory_format=memory_format)


def as_strided_scatter(
    x: torch.Tensor,
    source: torch.Tensor,
    size: Sequence[int],
    stride: Sequence[int],
    storage_offset: int | None = None,
) -> Any:
    """Replaces the elements of a contiguous `x` that `as_strided` selects by those of `source`.

    Returns NotImplemented for other tensors, for dynamic sizes, and for elements outside of `x`.
    """
    numbers = (*x.shape, *size, *stride, storage_offset or 0)
    if not all(isinstance(number, int) for number in numbers) or not x.is_contiguous():
        return NotImplemented
    place = torch.full((), storage_offset or 0, dtype=torch.int64)
    for length, step in zip(size, stride, strict=True):
        place = place.unsqueeze(-1) + torch.arange(length) * step
    last = (storage_offset or 0) + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if last >= x.numel() or (storage_offset is None and x.storage_offset() != 0):
        return NotImplemented
    values = source.to(x.dtype).reshape(-1)
    return x.reshape(-1).index_put((place.reshape(-1),), values).reshape(x.shape)


@takes_overload
def copied(overload: torch._ops.OpOverload, *args: Any, **kwargs: Any) -> Any:
    """Computes `view_copy` and similar operators by the view itself.

    Values in MLIR have no memory, so a view and its copy are the same.
    """
    view = overload.overloadpacket.__name__.removesuffix("_copy").removeprefix("_")
    return getattr(getattr(torch.ops.aten, view), overload._overloadname)(*args, **kwargs)


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
    """Returns the index of a dimension after the dimension `removed` is left out."""
    return dim - (removed < dim)
