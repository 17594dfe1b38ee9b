"""Captures accesses at positions that depend on data: `cache[i] = value` with a 0-d tensor `i`.

Eager reads the position as a Python integer. A tracer cannot, and would keep the example's position
or stop. `torch.export` itself rewrites most reads at such positions, but no writes.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true
from torch.overrides import TorchFunctionMode

# Eager takes a tensor of these dtypes as a mask, also one without dimensions.
_MASKS = (torch.bool, torch.uint8)
_NUMBERS = (bool, int, float, complex, *torch.types.py_sym_types)


class DataPositions(TorchFunctionMode):
    """Replaces `x[..., i, ...]` and assignments to it by operators if `i` depends on data.

    Positions are 0-d integer tensors, and the results of their `item()`. So are the bounds of
    slices.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Called for each function on tensors; see PyTorch's `TorchFunctionMode`."""
        if func in _ACCESSES and (items := _items(args[0], args[1])) is not None:
            return _ACCESSES[func](args[0], items, *args[2:])
        return func(*args, **(kwargs or {}))


def _items(x: torch.Tensor, index: Any) -> list[Any] | None:
    """Returns the items of an index with data positions, without an ellipsis; None for others."""
    items = list(index) if isinstance(index, tuple) else [index]
    if not all(map(_is_supported, items)) or not any(map(_depends_on_data, items)):
        return None
    ellipsis = [i for i, item in enumerate(items) if item is Ellipsis]
    place = ellipsis[0] if ellipsis else len(items)
    indexed = sum(map(_indexed_dims, items))
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
        and item.dtype not in _MASKS
        and not item.is_floating_point()
        and not item.is_complex()
    )


def _indexed_dims(item: Any) -> int:
    if item is None or item is Ellipsis:
        return 0
    return item.dim() if isinstance(item, torch.Tensor) and item.dtype in _MASKS else 1


def _get(x: torch.Tensor, items: list[Any]) -> torch.Tensor:
    view, rest = _view(x, items)
    return view if rest is Ellipsis else view[rest]


def _set(x: torch.Tensor, items: list[Any], value: Any) -> None:
    is_number = [_is_integer(item) or _is_position(item) for item in items]
    is_plain = all(map(_is_plain, items)) and isinstance(value, (torch.Tensor, *_NUMBERS))
    if not is_plain or _writes_the_only_row(x, items):
        view, rest = _view(x, items)
        view[rest] = value
        return
    # One write to the whole tensor, which compilers do in place.
    if isinstance(value, torch.Tensor):
        rank = is_number.count(False)
        # Eager drops leading dimensions of size 1, and converts the dtype.
        while value.dim() > rank and value.shape[0] == 1:
            value = value.squeeze(0)
        value = value.to(x.dtype)
    else:
        value = x.new_full((), value)
    positions = [
        _as_tensor(item) if number else None for item, number in zip(items, is_number, strict=True)
    ]
    # The method of tensors does not take None.
    torch.ops.aten.index_put_.default(x, positions, value)


def _writes_the_only_row(x: torch.Tensor, items: list[Any]) -> bool:
    """Returns True for a position in a dimension of size 1: IREE does not compile all scatters."""
    return any(
        _depends_on_data(item) and statically_known_true(size == 1)
        for size, item in zip(x.shape, items, strict=True)
    )


def _is_plain(item: Any) -> bool:
    """Returns True for a position, and for the slice of everything."""
    if isinstance(item, slice):
        return not _depends_on_data(item) and item == slice(None)
    return _is_integer(item) or _is_position(item)


def _view(x: torch.Tensor, items: list[Any]) -> tuple[torch.Tensor, Any]:
    """Returns a view of `x` by all items but tensors with dimensions, and the index for these."""
    dim, rest = 0, []
    for item in items:
        if _is_integer(item) or _is_position(item):
            x = torch.select(x, dim, _as_number(item))
            continue
        if isinstance(item, torch.Tensor):
            rest.append(item)
            dim += _indexed_dims(item)
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


_ACCESSES = {torch.Tensor.__getitem__: _get, torch.Tensor.__setitem__: _set}
