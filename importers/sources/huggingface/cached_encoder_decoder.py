"""Encoder-decoders with their caches as tensors, as two programs: encode and decode.

`encode` runs once per prompt. It computes the encoder's states, and from them the keys and values
of every cross-attention. `decode` adds one token. The cache is a plain dict of tensors:

- `length`, int64 scalar: the number of filled positions of the decoder;
- `source_mask`, int64 of (batch, source positions): 1 for positions of the prompt;
- `keys`, `values`: for each layer the decoder's own, (batch, heads, max_length, head size);
- `cross_keys`, `cross_values`: for each layer those of the prompt, (batch, heads, source positions,
  head size).

A text has up to `max_length` source positions. Other inputs, such as Whisper's spectrogram, have a
fixed size, and as many source positions as the encoder returns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from importers.cache_length import PROMPT
from importers.sources.huggingface.example import working_example
from importers.sources.huggingface.static_cache import (
    Tensors,
    functional_layers,
    read_buffers,
    with_buffers,
    with_forward,
    write_buffers,
)
from importers.sources.huggingface.text import decoder_start, token_ids, vocabulary_of
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error, first_line

TEXT = "input_ids"
# The parts of the cache that `decode` does not change, and those that `encode` need not empty:
# positions behind the length are not read.
_OF_PROMPT = ("source_mask", "cross_keys", "cross_values")
_OF_TEXT = ("keys", "values")


def encoder_decoder_entries(
    model: PreTrainedModel, batch: int, max_length: int, state: bool
) -> dict[str, Source]:
    """Returns the sources of `encode` and `decode`.

    `encode(input_ids, attention_mask)` takes both as (batch, tokens) with 2 to `max_length` tokens;
    the mask has 0 for padding. For a model of sound or images, it is `encode(inputs)`, with the
    model's own main input, such as Whisper's `input_features`. It returns the encoder's states,
    (batch, source positions, width), and the cache without tokens.

    `decode(decoder_input_ids, cache)` takes ids of (batch, 1). It returns the logits, (batch,
    vocabulary), and the new cache.

    With `state`, the cache is in buffers: `encode` returns the states only, and empties the cache;
    `decode` takes ids and returns logits.

    Raises:
        Error: stage `source`, if the model does not run with such a cache.
    """
    name = type(model).__name__
    of_text = model.main_input_name == TEXT
    encode = _text_encoder(max_length) if of_text else _encoder(max_length)
    with seeded(), torch.no_grad():
        inputs = _example(model, batch)
        try:
            states, cache = encode(model, *inputs)
            token = token_ids(vocabulary_of(model), batch, 1)
            decode = _decoder(of_text, states.shape[-1])
            decode(model, token, cache)
        except Exception as problem:
            raise Error(
                "source",
                f"{name} does not run with a cache of keys and values: {first_line(problem)}",
                hint="use another encoder-decoder, such as hf:t5 or hf:bart",
            ) from problem
    holder = model
    if state:
        empty = torch.utils._pytree.tree_map(torch.zeros_like, cache)
        holder = with_buffers(model, empty)
        encode = _text_writer(encode) if of_text else _writer(encode)
        decode = _reader(decode, empty)
    tokens = torch.export.Dim("tokens", min=2, max=max_length)
    dynamic_shapes = ({1: tokens}, {1: tokens}) if of_text else None
    return {
        "encode": Source(name, with_forward(holder, encode), inputs, dynamic_shapes=dynamic_shapes),
        "decode": Source(name, with_forward(holder, decode), (token,) if state else (token, cache)),
    }


def _example(model: PreTrainedModel, batch: int) -> tuple[torch.Tensor, ...]:
    """Returns example arguments of `encode`."""
    name = model.main_input_name
    if name == TEXT:
        ids = token_ids(vocabulary_of(model), batch, PROMPT)
        return ids, torch.ones_like(ids)
    example = working_example(model)[name]
    return (example[:1].repeat(batch, *[1] * (example.dim() - 1)),)


def _text_encoder(max_length: int) -> Callable[..., tuple[torch.Tensor, Tensors]]:
    def encode(
        self: PreTrainedModel, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        mask = {"attention_mask": attention_mask}
        return _encoded(self, {"input_ids": input_ids} | mask, mask, max_length, max_length)

    return encode


def _encoder(max_length: int) -> Callable[..., tuple[torch.Tensor, Tensors]]:
    def encode(self: PreTrainedModel, inputs: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
        return _encoded(self, {self.main_input_name: inputs}, {}, max_length, None)

    return encode


def _encoded(
    self: PreTrainedModel,
    inputs: dict[str, torch.Tensor],
    mask: dict[str, torch.Tensor],
    max_length: int,
    source_positions: int | None,
) -> tuple[torch.Tensor, Tensors]:
    """Returns the encoder's states and the cache without tokens.

    Args:
        mask: `attention_mask`, if the prompt may have padding.
        max_length: positions of the decoder.
        source_positions: positions of the prompt; by default as many as there are states.
    """
    states = self.get_encoder()(**inputs, return_dict=True).last_hidden_state
    batch, count = states.shape[:2]
    size = count if source_positions is None else source_positions
    start = torch.full((batch, 1), decoder_start(self))
    # The call computes the keys and values of the cross-attentions; its logits are unused.
    caches = EncoderDecoderCache(DynamicCache(), DynamicCache())
    type(self).forward(
        self,
        encoder_outputs=BaseModelOutput(last_hidden_state=states),
        decoder_input_ids=start,
        decoder_attention_mask=torch.ones_like(start),
        past_key_values=caches,
        use_cache=True,
        return_dict=True,
        **mask,
    )

    def padded(tensor: torch.Tensor, dim: int) -> torch.Tensor:
        shape = list(tensor.shape)
        shape[dim] = size
        return tensor.new_zeros(shape).slice_scatter(tensor, dim=dim, start=0, end=count)

    own, cross = caches.self_attention_cache.layers, caches.cross_attention_cache.layers
    source_mask = mask.get("attention_mask", states.new_ones((batch, count), dtype=torch.int64))
    return states, {
        "length": torch.zeros((), dtype=torch.int64),
        "source_mask": padded(source_mask, 1),
        "keys": [_empty(layer.keys, max_length) for layer in own],
        "values": [_empty(layer.values, max_length) for layer in own],
        "cross_keys": [padded(layer.keys, 2) for layer in cross],
        "cross_values": [padded(layer.values, 2) for layer in cross],
    }


def _empty(like: torch.Tensor, positions: int) -> torch.Tensor:
    """Returns zeros with another number of positions, in dimension 2."""
    return like.new_zeros((*like.shape[:2], positions, like.shape[3]))


def _decoder(of_text: bool, width: int) -> Callable[..., tuple[torch.Tensor, Tensors]]:
    """Returns the function of `decode`; `width` is that of the encoder's states."""

    def decode(
        self: PreTrainedModel, decoder_input_ids: torch.Tensor, cache: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        layers = functional_layers(cache, 1)
        batch, positions = cache["source_mask"].shape
        cross = map(_filled, cache["cross_keys"], cache["cross_values"])
        # The states are not read: their keys and values are in the cache.
        states = cache["cross_keys"][0].new_zeros((batch, positions, width))
        result = type(self).forward(
            self,
            encoder_outputs=BaseModelOutput(last_hidden_state=states),
            decoder_input_ids=decoder_input_ids,
            decoder_attention_mask=torch.ones(batch, layers[0].max_cache_len, dtype=torch.int64),
            past_key_values=EncoderDecoderCache(Cache(layers=layers), Cache(layers=list(cross))),
            use_cache=True,
            return_dict=True,
            **({"attention_mask": cache["source_mask"]} if of_text else {}),
        )
        return result.logits[:, -1], {
            "length": cache["length"] + 1,
            "source_mask": cache["source_mask"].clone(),
            "keys": [layer.keys for layer in layers],
            "values": [layer.values for layer in layers],
            "cross_keys": [keys.clone() for keys in cache["cross_keys"]],
            "cross_values": [values.clone() for values in cache["cross_values"]],
        }

    return decode


def _filled(keys: torch.Tensor, values: torch.Tensor) -> DynamicLayer:
    """Returns a cache layer that contains keys and values."""
    layer = DynamicLayer()
    layer.keys, layer.values, layer.is_initialized = keys, values, True
    return layer


def _text_writer(encode: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    def encode_to_buffers(
        self: PreTrainedModel, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> torch.Tensor:
        states, cache = encode(self, input_ids, attention_mask)
        write_buffers(self, cache, keep=_OF_TEXT)
        return states

    return encode_to_buffers


def _writer(encode: Callable[..., Any]) -> Callable[..., torch.Tensor]:
    def encode_to_buffers(self: PreTrainedModel, inputs: torch.Tensor) -> torch.Tensor:
        states, cache = encode(self, inputs)
        write_buffers(self, cache, keep=_OF_TEXT)
        return states

    return encode_to_buffers


def _reader(decode: Callable[..., Any], like: Tensors) -> Callable[..., torch.Tensor]:
    def decode_from_buffers(self: PreTrainedModel, decoder_input_ids: torch.Tensor) -> torch.Tensor:
        logits, cache = decode(self, decoder_input_ids, read_buffers(self, like))
        write_buffers(self, cache, keep=_OF_PROMPT)
        return logits

    return decode_from_buffers
