"""Captures accesses at positions that depend on data: `cache[i] = value` with a 0-d tensor `i`.

Eager reads the position as a Python integer. A tracer cannot, and would keep the example's position
or stop. `torch.export` itself rewrites most reads at such positions, but no writes.

The second part captures masks beside other indices: `x[mask, columns]`. `torch.export` has no name
for the number of elements that such a mask selects, and stops.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true
from torch.overrides import TorchFunctionMode

from importers.capture.data_ranges import ADDITIONS, DataRanges
from importers.decompositions.assertions import require

_INDICES = (torch.int32, torch.int64)
_NUMBERS = (bool, int, float, complex, *torch.types.py_sym_types)


class DataPositions(TorchFunctionMode):
    """Replaces `x[..., i, ...]` and assignments to it by operators if `i` depends on data.

    Positions are 0-d integer tensors, and the results of their `item()`. So are the bounds of
    slices, and numbers of parts (`torch.tensor_split`).
    """

    def __init__(self) -> None:
        super().__init__()
        self._ranges = DataRanges()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        kwargs = kwargs or {}
        if func in _ACCESSES and isinstance(args[1], tuple):
            args = (args[0], tuple(map(_stacked, args[1])), *args[2:])
        if func is torch.Tensor.__getitem__:
            args = (args[0], masks_as_indices(args[0], args[1]) or args[1])
        if func in _ACCESSES and (items := _items(args[0], args[1])) is not None:
            return _ACCESSES[func](args[0], items, *args[2:])
        if func in _FUNCTIONS and any(map(_depends_on_data, (*args[1:], *kwargs.values()))):
            return _FUNCTIONS[func](*args, **kwargs)
        if func is torch.arange and (numbers := self._ranges.arange(args, kwargs)) is not None:
            return numbers
        result = func(*args, **kwargs)
        if func in ADDITIONS and len(args) == 2 and not kwargs:
            self._ranges.remember(result, *args)
        return result


def _stacked(item: Any) -> Any:
    """Returns the index tensor for a sequence of positions in a tuple; other items unchanged.

    PyTorch would read the values of such positions, which a tracer does not have.
    """
    if not isinstance(item, (list, tuple)) or not any(map(_is_position, item)):
        return item
    if not all(_is_position(one) or _is_integer(one) for one in item):
        return item
    return torch.stack([_as_tensor(one) for one in item])


def _items(x: torch.Tensor, index: Any) -> list[Any] | None:
    """Returns the items of an index, with full slices for the dimensions that it omits.

    Returns None for an index without data positions, or with unsupported items.
    """
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(map(_is_supported, items)) or not any(map(_depends_on_data, items)):
        return None
    ellipsis = [i for i, item in enumerate(items) if item is Ellipsis]
    place = ellipsis[0] if ellipsis else len(items)
    indexed = sum(map(indexed_dims, items))
    items[place : place + 1] = [slice(None)] * (x.dim() - indexed)
    return items


def _is_supported(item: Any) -> bool:
    is_object = item is None or item is Ellipsis or isinstance(item, (slice, torch.Tensor))
    return is_object or _is_integer(item)


def _is_integer(item: Any) -> bool:
    return isinstance(item, (int, torch.SymInt)) and not isinstance(item, bool)


def _depends_on_data(item: Any) -> bool:
    if isinstance(item, slice):
        return any(map(_depends_on_data, (item.start, item.stop, item.step)))
    if isinstance(item, torch.SymInt):
        return bool(free_unbacked_symbols(item))
    return _is_position(item)


def _is_position(item: Any) -> bool:
    return (
        isinstance(item, torch.Tensor)
        and not item.dim()
        and item.dtype not in MASK_DTYPES
        and not item.is_floating_point()
        and not item.is_complex()
    )


def _get(x: torch.Tensor, items: list[Any]) -> torch.Tensor:
    if _are_adjacent_indices(items):
        # Use a single read, because IREE does not compile the read of a selection. Expand the
        # indices, because torch-mlir crashes on one without dimensions beside others.
        indices = _indices(items)
        shape = torch.broadcast_shapes(*(index.shape for index in indices if index is not None))
        indices = [index if index is None else index.expand(shape) for index in indices]
        return torch.ops.aten.index.Tensor(x, indices)
    view, rest = _view(x, items)
    return view if rest is Ellipsis else view[rest]


def _are_adjacent_indices(items: list[Any]) -> bool:
    """Returns True for full slices and adjacent indices, at least one of them with dimensions."""
    if not all(_is_plain(item) or _is_index(item) for item in items):
        return False
    places = [dim for dim, item in enumerate(items) if not isinstance(item, slice)]
    return any(map(_is_index, items)) and places[-1] - places[0] == len(places) - 1


def _is_index(item: Any) -> bool:
    return isinstance(item, torch.Tensor) and item.dim() > 0 and item.dtype in _INDICES


def _indices(items: list[Any]) -> list[torch.Tensor | None]:
    """Returns the operand of `aten.index` and `aten.index_put` for positions, indices and `:`."""
    return [None if isinstance(item, slice) else _as_tensor(item) for item in items]


def _set(x: torch.Tensor, items: list[Any], value: Any) -> None:
    is_plain = all(map(_is_plain, items)) and isinstance(value, (torch.Tensor, *_NUMBERS))
    if not is_plain or _writes_the_only_row(x, items):
        view, rest = _view(x, items)
        view[rest] = value
        return
    # One write to the whole tensor, which compilers do in place.
    if isinstance(value, torch.Tensor):
        rank = sum(isinstance(item, slice) for item in items)
        # Eager drops leading dimensions of size 1, and converts the dtype.
        while value.dim() > rank and value.shape[0] == 1:
            value = value.squeeze(0)
        value = value.to(x.dtype)
    else:
        value = x.new_full((), value)
    # Call the operator: `torch.Tensor.index_put_` does not accept None.
    torch.ops.aten.index_put_.default(x, _indices(items), value)


def _writes_the_only_row(x: torch.Tensor, items: list[Any]) -> bool:
    """Returns True for a position in a dimension of size 1: IREE does not compile all scatters."""
    return any(
        _depends_on_data(item) and statically_known_true(size == 1)
        for size, item in zip(x.shape, items, strict=True)
    )


def _is_plain(item: Any) -> bool:
    """Returns True for an integer, a position, or a full slice."""
    if isinstance(item, slice):
        return not _depends_on_data(item) and item == slice(None)
    return _is_integer(item) or _is_position(item)


def _view(x: torch.Tensor, items: list[Any]) -> tuple[torch.Tensor, Any]:
    """Applies all items except tensors with dimensions; returns the view and their index."""
    dim, rest = 0, []
    for item in items:
        if _is_integer(item) or _is_position(item):
            x = torch.select(x, dim, _as_number(item))
            continue
        if isinstance(item, torch.Tensor):
            rest.append(item)
            dim += indexed_dims(item)
            continue
        if item is None:
            x = x.unsqueeze(dim)
        elif not _is_plain(item):
            step = 1 if item.step is None else item.step
            bounds = map(_as_number, (item.start, item.stop, step))
            x = torch.ops.aten.slice.Tensor(x, dim, *bounds)
        rest.append(slice(None))
        dim += 1
    has_tensors = any(isinstance(item, torch.Tensor) for item in rest)
    return x, tuple(rest) if has_tensors else Ellipsis


def _as_number(position: Any) -> Any:
    return position.item() if isinstance(position, torch.Tensor) else position


def _as_tensor(position: torch.Tensor | torch.SymInt | int) -> torch.Tensor:
    if isinstance(position, torch.Tensor):
        return position.to(torch.int64)
    return torch.scalar_tensor(position, dtype=torch.int64)


def _narrow(input: torch.Tensor, dim: int, start: Any, length: Any) -> torch.Tensor:
    """Returns a view like `torch.narrow`. Its size is known if `length` is known."""
    size = input.shape[dim]
    place = _as_tensor(start)
    place = torch.where(place < 0, place + size, place)
    inside = torch.logical_and(place >= 0, place <= size - length)
    require(inside, "narrow: start and length are out of range")
    # These conditions always hold here. They tell PyTorch the size of the result.
    number = torch.where(inside, place, 0).item()
    torch._check(number >= 0)
    torch._check(number + length <= size)
    return torch.ops.aten.slice.Tensor(input, dim, number, number + length)


def _narrow_copy(input: torch.Tensor, dim: int, start: Any, length: Any) -> torch.Tensor:
    return _narrow(input, dim, start, length).clone()


def _select_copy(input: torch.Tensor, dim: int, index: Any) -> torch.Tensor:
    return torch.select(input, dim, index).clone()


def _slice_scatter(
    input: torch.Tensor,
    src: torch.Tensor,
    dim: int = 0,
    start: Any = None,
    end: Any = None,
    step: Any = 1,
) -> torch.Tensor:
    bounds = tuple(map(_as_number, (start, end, step)))
    # Slice a 1-d tensor for the size: the strides of a slice of `input` would exclude some sizes.
    places = torch.arange(input.shape[dim])
    given, size = src.shape[dim], torch.ops.aten.slice.Tensor(places, 0, *bounds).shape[0]
    if not statically_known_true(given == size):
        is_equal = torch.scalar_tensor(given) == torch.scalar_tensor(size)
        require(is_equal, "slice_scatter: the source has another size than the slice")
    return torch.ops.aten.slice_scatter.default(input, src, dim, *bounds)


def _tensor_split(input: torch.Tensor, *args: Any, **kwargs: Any) -> tuple[torch.Tensor, ...]:
    """Reads the number of parts from a 0-d tensor by `item()`, which tracers record."""
    name = "tensor_indices_or_sections"
    if name in kwargs:
        args = (kwargs.pop(name), *args)
    parts, *rest = args
    return input.tensor_split(parts.item() if _is_position(parts) else parts, *rest, **kwargs)


_FUNCTIONS = {
    torch.narrow: _narrow,
    torch.Tensor.narrow: _narrow,
    torch.narrow_copy: _narrow_copy,
    torch.Tensor.narrow_copy: _narrow_copy,
    torch.select_copy: _select_copy,
    torch.slice_scatter: _slice_scatter,
    torch.Tensor.slice_scatter: _slice_scatter,
    torch.tensor_split: _tensor_split,
    torch.Tensor.tensor_split: _tensor_split,
}
_ACCESSES = {torch.Tensor.__getitem__: _get, torch.Tensor.__setitem__: _set}


# Eager takes a tensor of these dtypes as a mask.
MASK_DTYPES = (torch.bool, torch.uint8)


def masks_as_indices(x: torch.Tensor, index: Any) -> tuple[Any, ...] | None:
    """Returns `index` of `x[index]`, with each mask replaced by the indices of its true elements.

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
