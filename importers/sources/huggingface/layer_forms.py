"""The layers of a decoder's cache: keys and values, states of state-space layers, or both.

A layer with keys and values may have an indexer, which selects positions by keys of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import (
    DummyLayer,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
    LinearAttentionLayer,
)

from importers.sources.huggingface.static_cache import (
    FunctionalLayer,
    Place,
    Tensors,
    first_position,
    place_in_window,
)

_WITH_KEYS = (
    DynamicLayer,
    DynamicSlidingWindowLayer,
    DynamicIndexedLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
)
_SUPPORTED = (*_WITH_KEYS, LinearAttentionLayer, DummyLayer)


class _RecurrentLayer(LinearAttentionLayer):
    """A state-space layer of a cache that already has states."""

    def __init__(self, form: LayerForm, conv: Iterator[Any], recurrent: Iterator[Any]):
        super().__init__(number_of_states=form.states)
        for index in form.conv:
            # transformers writes into its states. The program must not change its arguments.
            self.conv_states[index] = next(conv).clone()
            self.conv_kernel_size[index] = self.conv_states[index].shape[-1]
            self.is_conv_states_initialized[index] = True
        for index in form.recurrent:
            self.recurrent_states[index] = next(recurrent).clone()
            self.is_recurrent_states_initialized[index] = True
        self.has_previous_state = dict.fromkeys(range(form.states), True)


class _RecurrentAttentionLayer(_RecurrentLayer, FunctionalLayer):
    """A layer with states, and with keys and values."""

    def __init__(self, form: LayerForm, conv: Any, recurrent: Any, *attention: Any):
        FunctionalLayer.__init__(self, *attention)
        _RecurrentLayer.__init__(self, form, conv, recurrent)


class _IndexedLayer(FunctionalLayer):
    """A layer with an indexer, whose keys are (batch, positions, size)."""

    def __init__(self, indexer_keys: torch.Tensor, *attention: Any):
        super().__init__(*attention)
        self.indexer_keys = indexer_keys
        self.indexer_position_ids = None
        self.is_indexer_initialized = True

    def update_indexer(self, indexer_key_states: torch.Tensor) -> torch.Tensor:
        """Inserts the new keys after the first positions, and returns the whole tensor."""
        first = self._place.first
        self.indexer_keys = self.indexer_keys.slice_scatter(
            indexer_key_states, dim=1, start=first, end=first + indexer_key_states.shape[1]
        )
        return self.indexer_keys


@dataclass(frozen=True)
class LayerForm:
    """The tensors in a layer of a cache.

    Attributes:
        has_keys: whether the layer has keys and values.
        states: the number of state-space states; some of them may be unused.
        conv, recurrent: the indices of the used states.
        has_indexer: whether the layer has the keys of an indexer.
    """

    has_keys: bool
    states: int = 0
    conv: tuple[int, ...] = ()
    recurrent: tuple[int, ...] = ()
    has_indexer: bool = False

    @classmethod
    def of(cls, layer: Any) -> LayerForm:
        """Returns the form of a layer of transformers that was filled by a call."""
        has_keys = type(layer) in _WITH_KEYS
        if not isinstance(layer, LinearAttentionLayer):
            return cls(has_keys, has_indexer=getattr(layer, "is_indexer_initialized", False))
        used = (layer.is_conv_states_initialized, layer.is_recurrent_states_initialized)
        conv, recurrent = (tuple(key for key, value in one.items() if value) for one in used)
        return cls(has_keys, layer.number_of_states, conv, recurrent)

    def conv_states(self, layer: Any) -> list[torch.Tensor]:
        """Returns the used convolution states of a layer."""
        return [layer.conv_states[index] for index in self.conv]

    def recurrent_states(self, layer: Any) -> list[torch.Tensor]:
        """Returns the used recurrent states of a layer."""
        return [layer.recurrent_states[index] for index in self.recurrent]


def window_of(layers: Collection[Any]) -> int | None:
    """Returns the size of the sliding window if every layer with keys has the same, or None."""
    windows = _windows(layers)
    return windows.pop() if len(windows) == 1 else None


def window_of_some(layers: Collection[Any]) -> int | None:
    """Returns the size of the sliding windows if all layers that have one have the same, or None.

    transformers creates one mask for all of them.
    """
    windows = _windows(layers) - {None}
    return windows.pop() if len(windows) == 1 else None


def _windows(layers: Collection[Any]) -> set[int | None]:
    return {getattr(layer, "sliding_window", None) for layer in layers if type(layer) in _WITH_KEYS}


def is_supported(layer: Any) -> bool:
    """Returns whether a layer of transformers, filled by a call, has one of these forms."""
    if type(layer) not in _SUPPORTED:
        return False
    if getattr(layer, "indexer_position_ids", None) is not None:
        return False
    return type(layer) not in _WITH_KEYS or (layer.is_initialized and layer.keys.dim() == 4)


def stored_positions(layer: Any, window: int | None, max_length: int) -> int:
    """Returns how many positions a layer with keys stores between calls.

    Args:
        layer: of transformers' cache.
        window: the size of the sliding windows that limit this number; None for no limit.
    """
    if window is None or getattr(layer, "sliding_window", None) != window:
        return max_length
    # The first new position sees itself and `window - 1` older ones. No tensor is empty.
    return min(max_length, max(1, window - 1))


def layers_of(
    cache: Tensors, forms: tuple[LayerForm, ...], count: int, max_length: int
) -> list[Any]:
    """Returns the layers of a cache for a call with `count` new positions.

    Layers with fewer than `max_length` positions store the last positions; all store as many.
    """
    length = cache["length"]
    first = first_position(cache, count, max_length) if cache["keys"] else 0
    places = {max_length: Place(first)}
    for tensor in cache["keys"]:
        stored = tensor.shape[2]
        if stored not in places:
            places[stored] = place_in_window(length, first, count, stored, max_length)
    keys, values, conv, recurrent, indexer_keys = (
        iter(cache.get(name, ()))
        for name in ("keys", "values", "conv", "recurrent", "indexer_keys")
    )
    layers: list[Any] = []
    for form in forms:
        attention = ()
        if form.has_keys:
            own = next(keys)
            attention = own, next(values), length, places[own.shape[2]]
        if form.states and attention:
            layers.append(_RecurrentAttentionLayer(form, conv, recurrent, *attention))
        elif form.states:
            layers.append(_RecurrentLayer(form, conv, recurrent))
        elif form.has_indexer:
            layers.append(_IndexedLayer(next(indexer_keys), *attention))
        else:
            layers.append(FunctionalLayer(*attention) if attention else DummyLayer())
    return layers


def tensors_of(layers: list[Any], forms: tuple[LayerForm, ...], like: Tensors) -> Tensors:
    """Returns the lists of tensors in the layers that a cache of the form `like` has."""
    pairs = list(zip(forms, layers, strict=True))
    found = {
        "keys": [layer.keys for form, layer in pairs if form.has_keys],
        "values": [layer.values for form, layer in pairs if form.has_keys],
        "conv": [state for form, layer in pairs for state in form.conv_states(layer)],
        "recurrent": [state for form, layer in pairs for state in form.recurrent_states(layer)],
        "indexer_keys": [layer.indexer_keys for form, layer in pairs if form.has_indexer],
    }
    return {name: tensors for name, tensors in found.items() if name in like}
