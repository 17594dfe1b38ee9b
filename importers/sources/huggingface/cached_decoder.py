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

import inspect
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import (
    Cache,
    DynamicCache,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from importers.cache_length import PROMPT
from importers.sources.huggingface.static_cache import (
    Tensors,
    functional_layers,
    read_buffers,
    static_shapes,
    with_buffers,
    with_forward,
    write_buffers,
)
from importers.sources.huggingface.text import token_ids, vocabulary_of
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line


def decoder_entries(
    model: PreTrainedModel, batch: int, max_length: int, state: bool
) -> dict[str, Source]:
    """Returns the sources of `prefill` and `decode`, each called with `(input_ids, cache)`.

    `prefill` takes (batch, tokens) with 2 tokens or more, and an empty or partly filled cache.
    `decode` takes (batch, 1). Both return the logits of the last token, (batch, vocabulary), and
    the new cache. The example cache of `prefill` is empty.

    With `state`, the buffers are empty at first. Both entries then take only `input_ids` and return
    the logits.

    Raises:
        Error: stage `source`, if the model's cache contains anything other than keys and values.
    """
    forward = with_forward(model, _forward)
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
            name, forward, (prompt, empty), dynamic_shapes=({1: tokens}, static_shapes(empty))
        ),
        "decode": Source(name, forward, (token, filled)),
    }


def empty_cache(model: PreTrainedModel, batch: int, max_length: int) -> Tensors:
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


def _dynamic_layers(model: PreTrainedModel) -> list[DynamicLayer]:
    """Returns the layers of the model's own cache after a call with two tokens."""
    name = type(model).__name__
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


def _with_cache_inside(model: PreTrainedModel, empty: Tensors) -> torch.nn.Module:
    """Returns a shallow copy of the model that takes its cache from buffers."""

    def forward(self: PreTrainedModel, input_ids: torch.Tensor) -> torch.Tensor:
        logits, cache = _forward(self, input_ids, read_buffers(self, empty))
        # The amount of padding is constant.
        write_buffers(self, cache, keep=("padding",))
        return logits

    return with_forward(with_buffers(model, empty), forward)


def _forward(
    self: PreTrainedModel, input_ids: torch.Tensor, cache: Tensors
) -> tuple[torch.Tensor, Tensors]:
    count = input_ids.shape[1]
    capacity = cache["keys"][0].shape[2]
    layers = functional_layers(cache, count)
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
