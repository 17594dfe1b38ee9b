"""Caches of fixed size as tensors: a layer, the number of positions, and a model's buffers."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import StaticLayer

from importers.cache_length import DEFAULT, FEWEST
from unmess.core.errors.error import Error

# A dict of tensors and lists of tensors.
Tensors = dict[str, Any]


@dataclass(frozen=True)
class Window:
    """The positions of a layer with a sliding window in one call.

    Attributes:
        start: the position of the text that is stored at index 0.
        read: the number of positions that the attention reads.
        dropped: the number of positions at the start that are not stored for the next call.
    """

    start: int
    read: int
    dropped: int


@dataclass(frozen=True)
class Place:
    """Where a call inserts new positions into a layer.

    Attributes:
        first: the index of the first new position.
        window: None for a layer that stores all positions.
    """

    first: int
    window: Window | None = None


class FunctionalLayer(StaticLayer):
    """A static cache layer that creates new tensors; that of transformers is written in place.

    A layer with a sliding window stores the last positions in order, from index 0. The attention of
    a call reads these and all new positions. The layer then stores the last ones of both.
    """

    def __init__(
        self, keys: torch.Tensor, values: torch.Tensor, length: torch.Tensor, place: Place
    ):
        super().__init__(max_cache_len=keys.shape[2])
        self.keys, self.values = keys, values
        self.cumulative_length = length
        self._place = place
        self.is_sliding = place.window is not None
        self.is_initialized = True

    def update(self, key_states, value_states, *args, **kwargs):
        """Inserts the new states at their place, and returns the tensors that are read."""
        keys, self.keys = self._inserted(self.keys, key_states)
        values, self.values = self._inserted(self.values, value_states)
        self.cumulative_length = self.cumulative_length + key_states.shape[2]
        return keys, values

    def _inserted(
        self, stored: torch.Tensor, new: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the states that are read in this call, and those to store."""
        place, end = self._place, self._place.first + new.shape[2]
        if place.window is None:
            whole = stored.slice_scatter(new, 2, place.first, end)
            return whole, whole
        # Positions behind the last one are read, too. The mask hides them.
        behind = place.window.read - stored.shape[2]
        whole = torch.nn.functional.pad(stored, (0, 0, 0, behind))
        whole = whole.slice_scatter(new, 2, place.first, end)
        return whole, whole.narrow(2, place.window.dropped, stored.shape[2])

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Returns the number of states that a call with new positions reads, and the first one."""
        window = self._place.window
        return (self.max_cache_len, 0) if window is None else (window.read, window.start)


def first_position(cache: Tensors, count: int, positions: int) -> int:
    """Returns the first of `count` new positions in a cache for `positions` positions.

    The bounds of the cache become checks in the program, so that it never writes outside.
    """
    first = cache["length"].item()
    torch._check(first >= 0)
    torch._check(first + count <= positions)
    return first


def masked_positions(max_length: int) -> int:
    """Returns the length of a mask that covers what a layer with a window reads, see `Window`."""
    return 2 * max_length


def place_in_window(
    length: torch.Tensor, first: int, count: int, stored: int, max_length: int
) -> Place:
    """Returns where a call inserts `count` positions into layers that store the last positions.

    Args:
        length: int64 scalar, the number of positions of the text so far.
        first: the same as a number.
        stored: the number of positions that each layer stores.
        max_length: the largest number of positions of a text.
    """
    start = (length - stored).clamp(min=0).item()
    dropped = (length + count - stored).clamp(min=0).item() - start
    # torch.export does not support heads that share keys of a dynamic length.
    read = stored + count if isinstance(count, int) else max_length
    # These always hold. They tell torch.export that slices are inside their tensors, and that the
    # mask is long enough.
    torch._check(start >= 0)
    torch._check(start + read <= masked_positions(max_length))
    torch._check(start <= first)
    torch._check(first - start <= stored)
    torch._check(first - start + count <= read)
    torch._check(dropped >= 0)
    torch._check(dropped <= read - stored)
    return Place(first - start, Window(start, read, dropped))


def functional_layers(cache: Tensors, count: int) -> list[FunctionalLayer]:
    """Returns layers that store all positions, for a call with `count` new ones."""
    place = Place(first_position(cache, count, cache["keys"][0].shape[2]))
    return [
        FunctionalLayer(keys, values, cache["length"], place)
        for keys, values in zip(cache["keys"], cache["values"], strict=True)
    ]


def cache_positions(model: PreTrainedModel, batch: int, max_length: int | None) -> int:
    """Returns the number of positions in the cache.

    Raises:
        Error: stage `usage`, if the model does not support that number or the batch is below 1.
    """
    text = model.config.get_text_config(decoder=True)
    names = ("max_position_embeddings", "max_target_positions")
    # XLNet, which has no limit, says -1.
    limit = next((n for name in names if (n := getattr(text, name, None) or 0) > 0), None)
    if max_length is None:
        max_length = min(limit or DEFAULT, DEFAULT)
    if batch < 1:
        raise Error("usage", f"batch is {batch}, but must be at least 1")
    if max_length < FEWEST or (limit is not None and max_length > limit):
        upper = "" if limit is None else f" and at most {limit}, the model's own limit"
        raise Error("usage", f"max_length is {max_length}", hint=f"at least {FEWEST}{upper}")
    return max_length


def with_forward(model: PreTrainedModel, forward: Callable[..., Any]) -> torch.nn.Module:
    """Returns a shallow copy of the model with another `forward`. Tensors keep their names."""
    module = copy.copy(model)
    module.forward = types.MethodType(forward, module)
    return module


def with_buffers(model: PreTrainedModel, cache: Tensors) -> torch.nn.Module:
    """Returns a shallow copy of the model with the cache as buffers. The model is unchanged."""
    module = copy.copy(model)
    module._buffers = dict(model._buffers)
    for name, tensor in named(cache).items():
        module.register_buffer(name, tensor)
    return module


def named(cache: Tensors) -> dict[str, torch.Tensor]:
    """Returns the tensors of a cache by their names as buffers."""
    tensors = {}
    for name, value in cache.items():
        if isinstance(value, list):
            tensors |= {f"cache_{name}_{index}": tensor for index, tensor in enumerate(value)}
        else:
            tensors[f"cache_{name}"] = value
    return tensors


def read_buffers(module: torch.nn.Module, like: Tensors) -> Tensors:
    """Returns the cache in a module's buffers; `like` is a cache of the same form."""
    return {
        name: [getattr(module, f"cache_{name}_{index}") for index in range(len(value))]
        if isinstance(value, list)
        else getattr(module, f"cache_{name}")
        for name, value in like.items()
    }


def write_buffers(module: torch.nn.Module, cache: Tensors, keep: Collection[str] = ()) -> None:
    """Copies a cache into a module's buffers, except the entries named in `keep`."""
    changed = {name: value for name, value in cache.items() if name not in keep}
    for name, tensor in named(changed).items():
        getattr(module, name).copy_(tensor)


def static_shapes(tree: Any) -> Any:
    """Returns the `dynamic_shapes` of arguments without dynamic sizes."""
    return torch.utils._pytree.tree_map(lambda _: None, tree)
