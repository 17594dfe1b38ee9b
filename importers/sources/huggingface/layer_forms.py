"""The layers of a decoder's cache: keys and values, states of state-space layers, or both."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from transformers.cache_utils import (
    DummyLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionLayer,
)

from importers.sources.huggingface.static_cache import FunctionalLayer, Tensors, first_position

_WITH_KEYS = (DynamicLayer, DynamicSlidingWindowLayer, LinearAttentionAndFullAttentionLayer)
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


@dataclass(frozen=True)
class LayerForm:
    """The tensors in a layer of a cache.

    Attributes:
        has_keys: whether the layer has keys and values.
        states: the number of state-space states; some of them may be unused.
        conv, recurrent: the indices of the used states.
    """

    has_keys: bool
    states: int = 0
    conv: tuple[int, ...] = ()
    recurrent: tuple[int, ...] = ()

    @classmethod
    def of(cls, layer: Any) -> LayerForm:
        """Returns the form of a layer of transformers that was filled by a call."""
        has_keys = type(layer) in _WITH_KEYS
        if not isinstance(layer, LinearAttentionLayer):
            return cls(has_keys)
        used = (layer.is_conv_states_initialized, layer.is_recurrent_states_initialized)
        conv, recurrent = (tuple(key for key, value in one.items() if value) for one in used)
        return cls(has_keys, layer.number_of_states, conv, recurrent)

    def conv_states(self, layer: Any) -> list[torch.Tensor]:
        """Returns the used convolution states of a layer."""
        return [layer.conv_states[index] for index in self.conv]

    def recurrent_states(self, layer: Any) -> list[torch.Tensor]:
        """Returns the used recurrent states of a layer."""
        return [layer.recurrent_states[index] for index in self.recurrent]


def is_supported(layer: Any) -> bool:
    """Returns whether a layer of transformers, filled by a call, has one of these forms."""
    if type(layer) not in _SUPPORTED:
        return False
    return type(layer) not in _WITH_KEYS or (layer.is_initialized and layer.keys.dim() == 4)


def layers_of(cache: Tensors, forms: tuple[LayerForm, ...], count: int) -> list[Any]:
    """Returns the layers of a cache for a call with `count` new positions."""
    length = cache["length"]
    first = first_position(cache, count) if cache["keys"] else 0
    keys, values, conv, recurrent = (
        iter(cache.get(name, ())) for name in ("keys", "values", "conv", "recurrent")
    )
    layers: list[Any] = []
    for form in forms:
        attention = (next(keys), next(values), length, first) if form.has_keys else ()
        if form.states and attention:
            layers.append(_RecurrentAttentionLayer(form, conv, recurrent, *attention))
        elif form.states:
            layers.append(_RecurrentLayer(form, conv, recurrent))
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
    }
    return {name: tensors for name, tensors in found.items() if name in like}
