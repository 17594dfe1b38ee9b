"""Decoders with their key-value cache as tensors, as two programs: prefill and decode.

The cache is a plain dict of tensors that is both an argument and a result:

- `length`, int64 scalar: the number of filled positions;
- `padding`, int64 of (batch): the number of padding positions at the start of each row;
- `keys`, `values`: for each layer a tensor of (batch, heads, positions, head size); there are
  `max_length` positions, or `window - 1` in a layer with a sliding window;
- `conv`, `recurrent`: the states of state-space layers, in a model that has them;
- `indexer_keys`: for each layer with an indexer, (batch, max_length, size).

Its size is fixed, like that of transformers' `StaticCache`. A step writes one position, while a
growing cache (`DynamicCache`) creates a longer tensor at every step. `decode` has no dynamic size,
and `prefill` has one, the number of tokens. A layer with a sliding window stores the last positions
that the next token sees. The model's mask implements the window. Where all layers have the same
window, the program hides older positions itself: Moshi's mask, for example, does not, and relies on
a cache that forgets them.

A model with state-space layers has only `decode`: a state has no positions, so a prompt is read
token by token. It has `padding` if it also has keys: the caller sets the states of a row to zero
where its text begins.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import Cache, DynamicCache

from importers.cache_length import FEWEST, PROMPT
from importers.sources.huggingface.cache_check import (
    check_no_own_state,
    check_steps,
    is_close,
    running,
    tensor_versions,
)
from importers.sources.huggingface.layer_forms import (
    LayerForm,
    is_supported,
    layers_of,
    stored_positions,
    tensors_of,
    window_of,
    window_of_some,
)
from importers.sources.huggingface.recomputed_text import RECOMPUTED, recompute, text_cache
from importers.sources.huggingface.static_cache import (
    Tensors,
    masked_positions,
    read_buffers,
    static_shapes,
    with_buffers,
    with_forward,
    write_buffers,
)
from importers.sources.huggingface.text import token_ids, vocabulary_of
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error

# The function of both entry points: takes the model, ids and a cache; returns logits and a cache.
Step = Callable[[PreTrainedModel, torch.Tensor, Tensors], tuple[torch.Tensor, Tensors]]

CACHE = "a key-value cache"


def decoder_entries(
    model: PreTrainedModel, batch: int, max_length: int, state: bool
) -> dict[str, Source]:
    """Returns the sources of `prefill` and `decode`, each called with `(input_ids, cache)`.

    `prefill` takes (batch, tokens) with 2 tokens or more, and an empty or partly filled cache.
    `decode` takes (batch, 1). Both return the logits of the last token, (batch, vocabulary), and
    the new cache. The example cache of `prefill` is empty.

    A model with state-space layers has only `decode`, with an empty cache as the example.

    A model that does not run with such a cache keeps the text instead, and computes it again in
    each step: see `recomputed_text`. A note of `decode` says so.

    With `state`, the buffers are empty at first. Both entries then take only `input_ids` and return
    the logits. The padding is a constant for one text, and state for several.

    Raises:
        Error: stage `source`, if the steps differ from a call of the model without a cache.
    """
    with seeded(), torch.no_grad():
        forward, empty, notes = _step(model, batch, max_length)
        prompt = token_ids(vocabulary_of(model), batch, PROMPT)
        token = token_ids(vocabulary_of(model), batch, 1)
        has_states = is_recurrent(empty)
        filled = empty if has_states else forward(model, prompt, empty)[1]
    name = type(model).__name__
    # `decode` handles a single token.
    tokens = torch.export.Dim("tokens", min=2, max=max_length)
    if state:
        module = _with_cache_inside(model, forward, empty, ("padding",) if batch == 1 else ())
        decode = Source(name, module, (token,), notes=notes)
        if has_states:
            return {"decode": decode}
        prefill = Source(name, module, (prompt,), dynamic_shapes=({1: tokens},))
        return {"prefill": prefill, "decode": decode}
    module = with_forward(model, forward)
    decode = Source(name, module, (token, filled), notes=notes)
    if has_states:
        return {"decode": decode}
    return {
        "prefill": Source(
            name, module, (prompt, empty), dynamic_shapes=({1: tokens}, static_shapes(empty))
        ),
        "decode": decode,
    }


def _step(
    model: PreTrainedModel, batch: int, max_length: int
) -> tuple[Step, Tensors, tuple[str, ...]]:
    """Returns the function of both entry points, a cache without tokens, and notes.

    Raises:
        Error: stage `source`, if the model does not compute the same as without a cache.
    """
    try:
        layers = _own_layers(model)
        forward = _forward_with(layers, max_length)
        empty = empty_cache(layers, batch, max_length)
        _check(model, forward, empty, batch, CACHE, window_of(layers))
    except Error as problem:
        empty = text_cache(batch, max_length)
        try:
            _check(model, recompute, empty, batch, "a text of fixed size")
        except Error:
            raise problem from problem.__cause__
        return recompute, empty, (f"{problem.cause}: {RECOMPUTED}",)
    window = window_of_some(layers)
    if window is None or window >= max_length:
        return forward, empty, ()
    try:
        _check_window(model, layers, batch, window)
    except Error as problem:
        note = f"layers with a sliding window store all positions: {problem.cause}"
        return forward, empty, (note,)
    return forward, empty_cache(layers, batch, max_length, window), ()


def _check_window(model: PreTrainedModel, layers: list[Any], batch: int, window: int) -> None:
    """Raises an Error (`source`) if steps differ between layers that store a window and all.

    The steps begin before the layers are full, and random keys and values stand for a text.
    """
    positions = window + 1
    forward = _forward_with(layers, positions)
    whole = empty_cache(layers, batch, positions)
    last = empty_cache(layers, batch, positions, window)
    filled = max(0, window - 2)
    with seeded():
        for name in ("keys", "values"):
            for own, other in zip(whole[name], last[name], strict=True):
                own[:, :, :filled] = torch.randn_like(own[:, :, :filled])
                other[:, :, :filled] = own[:, :, :filled]
    whole["length"], last["length"] = torch.tensor(filled), torch.tensor(filled)
    ids = token_ids(vocabulary_of(model), batch, 3)
    kind = "a cache of a window"
    with running(model, kind):
        for piece in ids.split([1, 1, 1] if is_recurrent(whole) else [2, 1], dim=1):
            expected, whole = forward(model, piece, whole)
            logits, last = forward(model, piece, last)
            if not is_close(logits, expected):
                cause = f"computes other logits with {kind} than with all positions"
                raise Error("source", f"{type(model).__name__} {cause}")


def _check(
    model: PreTrainedModel,
    forward: Step,
    cache: Tensors,
    batch: int,
    kind: str,
    window: int | None = None,
) -> None:
    """Raises an Error (`source`) if the steps differ from a call without a cache.

    Args:
        window: as in `_forward_with`. A call without a cache may not have it.
    """
    count = min(PROMPT, (window or FEWEST) - 1)
    ids = token_ids(vocabulary_of(model), batch, count + 1)
    first = [1] * count if is_recurrent(cache) else [count]
    steps = []
    with running(model, kind):
        for piece in ids.split([*first, 1], dim=1):
            before = tensor_versions(model)
            logits, cache = forward(model, piece, cache)
            steps.append(logits)
    if "tokens" not in cache:
        check_no_own_state(model, before)
    inputs = {"input_ids": ids}
    if "position_ids" in inspect.signature(type(model).forward).parameters:
        # As in `generate`. Without them, RoBERTa counts from another position.
        inputs["position_ids"] = torch.arange(ids.shape[1])[None].expand_as(ids)
    check_steps(model, steps[-2:], inputs, kind)


def empty_cache(
    layers: list[Any], batch: int, max_length: int, window: int | None = None
) -> Tensors:
    """Returns a cache without tokens: zeros in the dtypes of the model's own cache.

    Args:
        layers: those of the model's own cache after a call.
        window: the size of the sliding windows; None to store all positions in every layer.
    """
    attentions = [layer for layer in layers if LayerForm.of(layer).has_keys]
    cache: Tensors = {"length": torch.zeros((), dtype=torch.int64)}
    states = {
        "conv": [state for layer in layers for state in LayerForm.of(layer).conv_states(layer)],
        "recurrent": [
            state for layer in layers for state in LayerForm.of(layer).recurrent_states(layer)
        ],
    }
    if attentions or not any(states.values()):
        cache["padding"] = torch.zeros(batch, dtype=torch.int64)
    for name in ("keys", "values"):
        own = [
            (getattr(layer, name), stored_positions(layer, window, max_length))
            for layer in attentions
        ]
        cache[name] = [
            tensor.new_zeros(batch, tensor.shape[1], stored, tensor.shape[3])
            for tensor, stored in own
        ]
    cache |= {
        name: [tensor.new_zeros(batch, *tensor.shape[1:]) for tensor in tensors]
        for name, tensors in states.items()
        if tensors
    }
    indexed = [layer.indexer_keys for layer in layers if LayerForm.of(layer).has_indexer]
    if indexed:
        cache["indexer_keys"] = [
            keys.new_zeros(batch, max_length, keys.shape[2]) for keys in indexed
        ]
    return cache


def is_recurrent(cache: Tensors) -> bool:
    """Returns whether a cache has states of state-space layers."""
    return "conv" in cache or "recurrent" in cache


def _own_layers(model: PreTrainedModel) -> list[Any]:
    """Returns the layers of the model's own cache after a call with two tokens.

    Raises:
        Error: stage `source`, if the model has no cache, or one of its layers has another form.
    """
    name = type(model).__name__
    cache = DynamicCache(config=model.config)
    with running(model, CACHE), torch.no_grad():
        model(
            input_ids=token_ids(vocabulary_of(model), 1, 2),
            use_cache=True,
            **{cache_argument(model): cache},
        )
    for index, layer in enumerate(cache.layers):
        if not is_supported(layer):
            raise Error(
                "source",
                f"layer {index} of {name} caches something other than keys, values and states "
                f"({type(layer).__name__})",
                hint="use a model in which every layer has its own cache",
            )
    if not cache.layers:
        raise Error("source", f"{name} did not use the cache", hint="use a decoder")
    return cache.layers


def cache_argument(model: PreTrainedModel) -> str:
    """Returns the name of the model's argument for its cache."""
    accepted = inspect.signature(type(model).forward).parameters
    return "cache_params" if "cache_params" in accepted else "past_key_values"


def _with_cache_inside(
    model: PreTrainedModel,
    forward: Callable[..., Any],
    empty: Tensors,
    constant: Collection[str],
) -> torch.nn.Module:
    """Returns a shallow copy of the model that takes its cache from buffers.

    Args:
        constant: entries of the cache that are not written.
    """

    def forward_in_place(self: PreTrainedModel, input_ids: torch.Tensor) -> torch.Tensor:
        logits, cache = forward(self, input_ids, read_buffers(self, empty))
        write_buffers(self, cache, keep=constant)
        return logits

    return with_forward(with_buffers(model, empty), forward_in_place)


def _forward_with(own: list[Any], max_length: int) -> Step:
    """Returns the function of both entry points.

    Args:
        own: the layers of the model's own cache. If all have the same window, a call sees its new
            positions and the last `window - 1` older ones. transformers also drops older keys only
            between calls.
    """
    forms, window = tuple(map(LayerForm.of, own)), window_of(own)

    def forward(
        self: PreTrainedModel, input_ids: torch.Tensor, cache: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        count = input_ids.shape[1]
        layers = layers_of(cache, forms, count, max_length)
        accepted = inspect.signature(type(self).forward).parameters
        options: dict[str, Any] = {}
        padding = cache["padding"][:, None] if "padding" in cache else 0
        if cache["keys"]:
            first = padding
            if window is not None and window < max_length:
                first = torch.maximum(padding, cache["length"] - window + 1)
            has_window = any(keys.shape[2] < max_length for keys in cache["keys"])
            masked = masked_positions(max_length) if has_window else max_length
            positions = torch.arange(masked)[None]
            options["attention_mask"] = (positions >= first).expand(input_ids.shape[0], -1)
        if "position_ids" in accepted:
            positions = torch.arange(count)[None] + cache["length"] - padding
            options["position_ids"] = positions.clamp(min=0)
        if "logits_to_keep" in accepted:
            options["logits_to_keep"] = 1
        result = type(self).forward(
            self,
            input_ids=input_ids,
            use_cache=True,
            return_dict=True,
            **{cache_argument(self): Cache(layers=layers)},
            **options,
        )
        after = {"length": cache["length"] + count}
        if "padding" in cache:
            after["padding"] = cache["padding"].clone()
        return result.logits[:, -1], after | tensors_of(layers, forms, cache)

    return forward
