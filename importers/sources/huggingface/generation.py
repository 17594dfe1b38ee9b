"""Decoders with their key-value cache as tensors, as two programs: prefill and decode.

The cache is a plain dict of tensors that is both an argument and a result:

- `length`, int64 scalar: the number of filled positions;
- `padding`, int64 of (batch): the number of padding positions at the start of each row;
- `keys`, `values`: for each layer a tensor of (batch, heads, max_length, head size).

Its size is fixed, like that of transformers' `StaticCache`. A step writes one position, while a
growing cache (`DynamicCache`) creates a longer tensor at every step. `decode` has no dynamic size,
and `prefill` has one, the number of tokens. Layers with a sliding window keep all positions too:
the mask implements the window.
"""

from __future__ import annotations

import copy
import inspect
import types
from dataclasses import replace
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    StaticLayer,
)

from importers.cache_length import DEFAULT, FEWEST, PROMPT
from importers.sources.huggingface.adjust import WITHOUT_CACHE
from importers.sources.huggingface.text import token_ids, vocabulary_of
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line


def with_cache(
    source: Source, batch: int = 1, max_length: int | None = None, state: bool = False
) -> Source:
    """Returns a decoder as two entry points. See `generation_entries`."""
    entries = generation_entries(source.model, batch, max_length, state)
    positions = _length(source.model, batch, max_length)
    note = f"with a key-value cache of {positions} positions, batch {batch}"
    notes = (*(text for text in source.notes if text != WITHOUT_CACHE), note)
    return replace(source, args=(), kwargs={}, notes=notes, entries=entries)


def generation_entries(
    model: Any, batch: int = 1, max_length: int | None = None, state: bool = False
) -> dict[str, Source]:
    """Returns the sources of `prefill` and `decode`, each called with `(input_ids, cache)`.

    `prefill` takes (batch, tokens) with 2 tokens or more, and an empty or partly filled cache.
    `decode` takes (batch, 1). Both return the logits of the last token, (batch, vocabulary), and
    the new cache. The example cache of `prefill` is empty.

    Args:
        batch: the number of texts processed together.
        max_length: positions in the cache, for prompt and generated tokens together; by default
            256, or the model's own limit if that is lower.
        state: whether the cache is in buffers of the model: `cache_length`, `cache_padding`,
            `cache_keys_0` and so on, empty at first. Both entries then take only `input_ids` and
            return the logits.

    Raises:
        Error: stage `usage` for sizes that the model does not support, `source` for a model that
            is not a decoder or whose cache contains anything other than keys and values.
    """
    if not isinstance(model, PreTrainedModel):
        raise Error(
            "source",
            f"a {type(model).__name__} is not a model of transformers",
            hint="use a decoder, such as hf:llama or hf:gpt2",
        )
    max_length = _length(model, batch, max_length)
    forward = _with_cache(model)
    with seeded(), torch.no_grad():
        prompt = token_ids(vocabulary_of(model), batch, PROMPT)
        empty = empty_cache(model, batch, max_length)
        _, filled = forward(prompt, empty)
        token = token_ids(vocabulary_of(model), batch, 1)
    name = type(model).__name__
    # `decode` handles a single token.
    tokens = torch.export.Dim("tokens", min=2, max=max_length)
    if state:
        forward = _with_cache_inside(model, empty)
        return {
            "prefill": Source(name, forward, (prompt,), dynamic_shapes=({1: tokens},)),
            "decode": Source(name, forward, (token,)),
        }
    return {
        "prefill": Source(
            name, forward, (prompt, empty), dynamic_shapes=({1: tokens}, _static(empty))
        ),
        "decode": Source(name, forward, (token, filled)),
    }


def empty_cache(model: PreTrainedModel, batch: int, max_length: int) -> dict[str, Any]:
    """Returns a cache without tokens: zeros in the dtypes of the model's own cache.

    Raises:
        Error: stage `source`, if the model has no cache of keys and values.
    """
    shapes = [
        tuple((part.shape[1], part.shape[3], part.dtype) for part in (layer.keys, layer.values))
        for layer in _dynamic_layers(model)
    ]

    def zeros(heads: int, size: int, dtype: torch.dtype) -> torch.Tensor:
        return torch.zeros(batch, heads, max_length, size, dtype=dtype)

    return {
        "length": torch.zeros((), dtype=torch.int64),
        "padding": torch.zeros(batch, dtype=torch.int64),
        "keys": [zeros(*keys) for keys, _ in shapes],
        "values": [zeros(*values) for _, values in shapes],
    }


def _length(model: PreTrainedModel, batch: int, max_length: int | None) -> int:
    """Returns the number of positions in the cache.

    Raises:
        Error: stage `usage`, if the model does not support that number or the batch is below 1.
    """
    limit = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if max_length is None:
        max_length = min(limit or DEFAULT, DEFAULT)
    if batch < 1:
        raise Error("usage", f"batch is {batch}", hint="at least 1")
    if max_length < FEWEST or (limit is not None and max_length > limit):
        upper = "" if limit is None else f" and at most {limit}, the model's own limit"
        raise Error("usage", f"max_length is {max_length}", hint=f"at least {FEWEST}{upper}")
    return max_length


def _dynamic_layers(model: PreTrainedModel) -> list[DynamicLayer]:
    """Returns the layers of the model's own cache after a call with two tokens."""
    name = type(model).__name__
    if getattr(model.config, "is_encoder_decoder", False):
        raise Error(
            "source",
            f"{name} is an encoder-decoder: its cache depends on the encoder too",
            hint="use a decoder, such as hf:llama or hf:gpt2",
        )
    if not model.can_generate():
        raise Error(
            "source",
            f"{name} does not generate text",
            hint="use a decoder with its language-model head (AutoModelForCausalLM)",
        )
    cache = DynamicCache(config=model.config)
    try:
        with torch.no_grad():
            model(
                input_ids=token_ids(vocabulary_of(model), 1, 2),
                past_key_values=cache,
                use_cache=True,
            )
    except Exception as problem:
        raise Error(
            "source",
            f"{name} does not run with a key-value cache: {first_line(problem)}",
            hint="use a decoder, such as hf:llama or hf:gpt2",
        ) from problem
    for index, layer in enumerate(cache.layers):
        plain = type(layer) in (DynamicLayer, DynamicSlidingWindowLayer)
        if not (plain and layer.is_initialized and layer.keys.dim() == 4):
            raise Error(
                "source",
                f"layer {index} of {name} caches something other than keys and values "
                f"({type(layer).__name__})",
                hint="use a model in which every layer is attention with its own cache",
            )
    if not cache.layers:
        raise Error("source", f"{name} did not use the cache", hint="use a decoder")
    return cache.layers


def _with_cache(model: PreTrainedModel) -> torch.nn.Module:
    """Returns a shallow copy of the model with another `forward`. Tensors keep their names."""
    module = copy.copy(model)
    module.forward = types.MethodType(_forward, module)
    return module


def _with_cache_inside(model: PreTrainedModel, empty: dict[str, Any]) -> torch.nn.Module:
    """Returns a shallow copy of the model with the cache as buffers. The model is unchanged."""
    module = copy.copy(model)
    module._buffers = dict(model._buffers)
    for name, tensor in cache_buffers(empty).items():
        module.register_buffer(name, tensor)
    module.forward = types.MethodType(_forward_in_place, module)
    return module


def cache_buffers(cache: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Returns the tensors of a cache by their names as buffers."""
    buffers = {f"cache_{name}": cache[name] for name in ("length", "padding")}
    for name in ("keys", "values"):
        buffers |= {f"cache_{name}_{index}": tensor for index, tensor in enumerate(cache[name])}
    return buffers


def _forward_in_place(self: PreTrainedModel, input_ids: torch.Tensor) -> torch.Tensor:
    count = sum(name.startswith("cache_keys_") for name in self._buffers)
    before = {
        "length": self.cache_length,
        "padding": self.cache_padding,
        "keys": [getattr(self, f"cache_keys_{index}") for index in range(count)],
        "values": [getattr(self, f"cache_values_{index}") for index in range(count)],
    }
    logits, after = _forward(self, input_ids, before)
    for name, tensor in cache_buffers(after).items():
        # The amount of padding is constant.
        if name != "cache_padding":
            getattr(self, name).copy_(tensor)
    return logits


def _forward(
    self: PreTrainedModel, input_ids: torch.Tensor, cache: dict[str, Any]
) -> tuple[torch.Tensor, dict[str, Any]]:
    count = input_ids.shape[1]
    capacity = cache["keys"][0].shape[2]
    first = cache["length"].item()
    # These are checks in the program too, so that it never writes outside the cache.
    torch._check(first >= 0)
    torch._check(first + count <= capacity)
    layers = [
        _Layer(keys, values, cache["length"], first)
        for keys, values in zip(cache["keys"], cache["values"], strict=True)
    ]
    padding = cache["padding"][:, None]
    options: dict[str, Any] = {"attention_mask": torch.arange(capacity)[None] >= padding}
    accepted = inspect.signature(type(self).forward).parameters
    if "position_ids" in accepted:
        positions = torch.arange(count)[None] + cache["length"] - padding
        options["position_ids"] = positions.clamp(min=0)
    if "logits_to_keep" in accepted:
        options["logits_to_keep"] = 1
    result = type(self).forward(
        self,
        input_ids=input_ids,
        past_key_values=Cache(layers=layers),
        use_cache=True,
        return_dict=True,
        **options,
    )
    return result.logits[:, -1], {
        "length": cache["length"] + count,
        "padding": cache["padding"].clone(),
        "keys": [layer.keys for layer in layers],
        "values": [layer.values for layer in layers],
    }


class _Layer(StaticLayer):
    """A static cache layer that creates new tensors; that of transformers is written in place."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: torch.Tensor, first: int):
        super().__init__(max_cache_len=keys.shape[2])
        self.keys, self.values = keys, values
        self.cumulative_length = length
        self._first = first
        self.is_initialized = True

    def update(self, key_states, value_states, *args, **kwargs):
        """Inserts the new states after the `first` positions, and returns the whole tensors."""
        count = key_states.shape[2]
        place = {"dim": 2, "start": self._first, "end": self._first + count}
        self.keys = self.keys.slice_scatter(key_states, **place)
        self.values = self.values.slice_scatter(value_states, **place)
        self.cumulative_length = self.cumulative_length + count
        return self.keys, self.values


def _static(tree: Any) -> Any:
    """Returns the `dynamic_shapes` of arguments without dynamic sizes."""
    return torch.utils._pytree.tree_map(lambda _: None, tree)
