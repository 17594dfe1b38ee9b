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
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from importers.cache_length import PROMPT
from importers.sources.huggingface.cache_check import check_steps, running
from importers.sources.huggingface.example import working_example
from importers.sources.huggingface.recomputed_text import RECOMPUTED, recomputing_decoder
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
from unmess.core.errors.error import Error

TEXT = "input_ids"
# The parts of the cache that `decode` does not change, and those that `encode` need not empty:
# positions behind the length are not read.
_OF_PROMPT = ("source_mask", "cross_keys", "cross_values", "states")
_OF_TEXT = ("keys", "values", "tokens")
# Tokens of the decoder that are compared with a call without a cache.
_STEPS = 3
CACHE = "a cache of keys and values"


@dataclass
class _EncoderStates(BaseModelOutput):
    """An encoder's states, with what some models read beside them (Moonshine, NLLB-MoE)."""

    attention_mask: torch.Tensor | None = None
    router_logits: Any = None


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

    A model that does not run with such a cache keeps the encoder's states and the text instead, and
    computes the text again in each step: see `recomputed_text`. A note of `decode` says so.

    With `state`, the cache is in buffers: `encode` returns the states only, and empties the cache;
    `decode` takes ids and returns logits.

    Raises:
        Error: stage `source`, if the steps differ from a call of the model without a cache.
    """
    name = type(model).__name__
    of_text = model.main_input_name == TEXT
    with seeded(), torch.no_grad():
        inputs = _example(model, batch)
        token = token_ids(vocabulary_of(model), batch, 1)
        notes: tuple[str, ...] = ()
        try:
            encode, decode, cache = _entries(model, inputs, max_length, _with_keys, CACHE)
        except Error as problem:
            kind = "a text of fixed size"
            try:
                encode, decode, cache = _entries(model, inputs, max_length, _with_states, kind)
            except Error:
                raise problem from problem.__cause__
            notes = (f"{problem.cause}: {RECOMPUTED}",)
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
        "decode": Source(
            name,
            with_forward(holder, decode),
            (token,) if state else (token, cache),
            notes=notes,
        ),
    }


def _entries(
    model: PreTrainedModel,
    inputs: tuple[torch.Tensor, ...],
    max_length: int,
    empty: Callable[..., Tensors],
    kind: str,
) -> tuple[Callable[..., Any], Callable[..., Any], Tensors]:
    """Returns the functions of `encode` and `decode`, and the cache after `encode`.

    Raises:
        Error: stage `source`, if their results differ from those of the model without a cache.
    """
    of_text = model.main_input_name == TEXT
    encode = _text_encoder(max_length, empty) if of_text else _encoder(max_length, empty)
    ids = token_ids(vocabulary_of(model), inputs[0].shape[0], _STEPS)
    steps = []
    with running(model, kind):
        states, first = encode(model, *inputs)
        decode = _decoder(of_text, states.shape[-1])
        if "states" in first:
            decode = recomputing_decoder(_decoded(of_text))
        cache = first
        for token in ids.split(1, dim=1):
            logits, cache = decode(model, token, cache)
            steps.append(logits)
    call = {model.main_input_name: inputs[0], "decoder_input_ids": ids}
    if of_text:
        call["attention_mask"] = inputs[1]
    check_steps(model, steps, call, kind)
    return encode, decode, first


def _example(model: PreTrainedModel, batch: int) -> tuple[torch.Tensor, ...]:
    """Returns example arguments of `encode`."""
    name = model.main_input_name
    if name == TEXT:
        ids = token_ids(vocabulary_of(model), batch, PROMPT)
        return ids, torch.ones_like(ids)
    example = working_example(model)[name]
    return (example[:1].repeat(batch, *[1] * (example.dim() - 1)),)


def _text_encoder(
    max_length: int, empty: Callable[..., Tensors]
) -> Callable[..., tuple[torch.Tensor, Tensors]]:
    def encode(
        self: PreTrainedModel, input_ids: torch.Tensor, attention_mask: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        mask = {"attention_mask": attention_mask}
        states = _states(self, {"input_ids": input_ids} | mask)
        return states, empty(self, states, mask, max_length, max_length)

    return encode


def _encoder(
    max_length: int, empty: Callable[..., Tensors]
) -> Callable[..., tuple[torch.Tensor, Tensors]]:
    def encode(self: PreTrainedModel, inputs: torch.Tensor) -> tuple[torch.Tensor, Tensors]:
        states = _states(self, {self.main_input_name: inputs})
        return states, empty(self, states, {}, max_length, states.shape[1])

    return encode


def _states(self: PreTrainedModel, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    return self.get_encoder()(**inputs, return_dict=True).last_hidden_state


def _with_keys(
    self: PreTrainedModel,
    states: torch.Tensor,
    mask: dict[str, torch.Tensor],
    max_length: int,
    source_positions: int,
) -> Tensors:
    """Returns the cache without tokens, with the keys and values of the cross-attentions.

    Args:
        states: of the encoder.
        mask: `attention_mask`, if the prompt may have padding.
        max_length: positions of the decoder.
        source_positions: positions of the prompt, at least as many as there are states.
    """
    start = torch.full((states.shape[0], 1), decoder_start(self))
    # The call computes the keys and values of the cross-attentions; its logits are unused.
    caches = EncoderDecoderCache(DynamicCache(), DynamicCache())
    type(self).forward(
        self,
        encoder_outputs=_EncoderStates(last_hidden_state=states),
        decoder_input_ids=start,
        decoder_attention_mask=torch.ones_like(start),
        past_key_values=caches,
        use_cache=True,
        return_dict=True,
        **mask,
    )
    own, cross = caches.self_attention_cache.layers, caches.cross_attention_cache.layers
    return {
        "length": torch.zeros((), dtype=torch.int64),
        "source_mask": _source_mask(states, mask, source_positions),
        "keys": [_empty(layer.keys, max_length) for layer in own],
        "values": [_empty(layer.values, max_length) for layer in own],
        "cross_keys": [_padded(layer.keys, 2, source_positions) for layer in cross],
        "cross_values": [_padded(layer.values, 2, source_positions) for layer in cross],
    }


def _with_states(
    self: PreTrainedModel,
    states: torch.Tensor,
    mask: dict[str, torch.Tensor],
    max_length: int,
    source_positions: int,
) -> Tensors:
    """Returns the cache of a text that every step computes again; arguments as in `_with_keys`."""
    return {
        "length": torch.zeros((), dtype=torch.int64),
        "source_mask": _source_mask(states, mask, source_positions),
        # A copy, because the states are a result, too.
        "states": _padded(states, 1, source_positions).clone(),
        "tokens": torch.zeros(states.shape[0], max_length, dtype=torch.int64),
    }


def _source_mask(
    states: torch.Tensor, mask: dict[str, torch.Tensor], source_positions: int
) -> torch.Tensor:
    own = mask.get("attention_mask", states.new_ones(states.shape[:2], dtype=torch.int64))
    return _padded(own, 1, source_positions)


def _padded(tensor: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Returns the tensor with zeros behind it in a dimension, up to `size`."""
    shape = list(tensor.shape)
    count, shape[dim] = shape[dim], size
    return tensor.new_zeros(shape).slice_scatter(tensor, dim=dim, start=0, end=count)


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
            encoder_outputs=_EncoderStates(last_hidden_state=states),
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


def _decoded(of_text: bool) -> Callable[..., Any]:
    """Returns the function of `recomputing_decoder`."""

    def forward(
        self: PreTrainedModel, states: torch.Tensor, mask: torch.Tensor, ids: torch.Tensor
    ) -> Any:
        return type(self).forward(
            self,
            encoder_outputs=_EncoderStates(last_hidden_state=states),
            decoder_input_ids=ids,
            # By default, some models hide tokens that equal the padding token.
            decoder_attention_mask=torch.ones_like(ids),
            use_cache=False,
            return_dict=True,
            # The encoder does not run, but FSMT has a causal mask only with `input_ids`.
            **({"input_ids": ids, "attention_mask": mask} if of_text else {}),
        )

    return forward


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
