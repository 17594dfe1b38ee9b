"""Captures masks beside other indices: `x[mask, columns]`.

`torch.export` has no name for the number of elements that such a mask selects, and stops.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.decompositions.assertions import require

# Eager takes a tensor of these dtypes as a mask.
MASK_DTYPES = (torch.bool, torch.uint8)


def masks_as_indices(x: torch.Tensor, index: Any) -> tuple[Any, ...] | None:
    """Returns the index of `x[index]` with the places of true elements in place of each mask.

    Returns None for an index without masks, and for one whose only tensor is a mask.
    """
    if not isinstance(index, tuple):
        return None
    items = [torch.tensor(item) if isinstance(item, list) else item for item in index]
    tensors = [item for item in items if isinstance(item, torch.Tensor) and item.dim()]
    if len(tensors) < 2 or not any(map(_is_mask, tensors)):
        return None
    others = [item.shape for item in tensors if not _is_mask(item)]
    length = torch.broadcast_shapes(*others)[-1] if others else 1
    replaced: list[Any] = []
    for place, item in enumerate(items):
        if not isinstance(item, torch.Tensor) or not _is_mask(item):
            replaced.append(item)
            continue
        _check_shape(x, items, place)
        places = item.nonzero().unbind(1)
        replaced += [_broadcast(indices, length) for indices in places]
    return tuple(replaced)


def _is_mask(item: torch.Tensor) -> bool:
    return item.dtype in MASK_DTYPES and item.dim() > 0


def _check_shape(x: torch.Tensor, items: list[Any], place: int) -> None:
    """Checks that the mask at `place` has the sizes of the dimensions that it indexes."""
    before, after = items[:place], items[place + 1 :]
    mask = items[place]
    if Ellipsis in [item for item in before if not isinstance(item, torch.Tensor)]:
        first = x.dim() - sum(map(indexed_dims, after)) - mask.dim()
    else:
        first = sum(map(indexed_dims, before))
    for size, expected in zip(mask.shape, x.shape[first:], strict=False):
        torch._check(size == expected)


def indexed_dims(item: Any) -> int:
    """Returns the number of dimensions that an item of an index consumes."""
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, torch.Tensor) and item.dtype in MASK_DTYPES else 1


def _broadcast(indices: torch.Tensor, length: int | torch.SymInt) -> torch.Tensor:
    """Broadcasts 1-d `indices`, whose number depends on data, to `length` elements."""
    if statically_known_true(length == 1):
        return indices
    number = torch.scalar_tensor(indices.shape[0], dtype=torch.int64)
    is_one = number == 1
    fits = torch.logical_or(is_one, number == length)
    require(fits, "index: a mask selects another number of elements than the index beside it")
    return indices[torch.where(is_one, 0, torch.arange(length))]
