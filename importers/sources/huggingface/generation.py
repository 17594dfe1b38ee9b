"""Models that generate text, with their cache as tensors, as two programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from transformers import PreTrainedModel

from importers.packed.layers import unpacked_once
from importers.sources.huggingface.adjust import WITHOUT_CACHE
from importers.sources.huggingface.cached_decoder import decoder_entries
from importers.sources.huggingface.cached_encoder_decoder import encoder_decoder_entries
from importers.sources.huggingface.static_cache import cache_positions
from importers.sources.source import Source
from unmess.core.errors.error import Error


def with_cache(
    source: Source, batch: int = 1, max_length: int | None = None, state: bool = False
) -> Source:
    """Returns a model that generates text as two entry points. See `generation_entries`."""
    entries = generation_entries(source.model, batch, max_length, state)
    positions = cache_positions(source.model, batch, max_length)
    note = f"with a key-value cache of {positions} positions, batch {batch}"
    notes = (
        *(text for text in source.notes if text != WITHOUT_CACHE),
        note,
        *entries["decode"].notes,
    )
    return replace(source, args=(), kwargs={}, notes=notes, entries=entries)


def generation_entries(
    model: Any, batch: int = 1, max_length: int | None = None, state: bool = False
) -> dict[str, Source]:
    """Returns the sources of the entry points of a model that generates text.

    These are `prefill` and `decode` for a decoder (only `decode` if it has state-space layers),
    `encode` and `decode` for an encoder-decoder.
    See `decoder_entries` and `encoder_decoder_entries`.

    Args:
        batch: the number of texts processed together.
        max_length: positions in the cache, for prompt and generated tokens together (in an
            encoder-decoder, for each of them); by default 256, or the model's own limit if that is
            lower.
        state: whether the cache is in buffers of the model, `cache_length`, `cache_keys_0` and so
            on, instead of an argument and a result.

    Raises:
        Error: stage `usage` for sizes that the model does not support, `source` for a model that
            does not generate text or whose cache has another form.
    """
    check_generates(model)
    max_length = cache_positions(model, batch, max_length)
    entries = encoder_decoder_entries if model.config.is_encoder_decoder else decoder_entries
    # The entries call the model several times, to find and to check its cache.
    with unpacked_once(model):
        return entries(model, batch, max_length, state)


def check_generates(model: Any) -> None:
    """Raises an Error (`source`) if a model does not generate text."""
    if not isinstance(model, PreTrainedModel):
        raise Error(
            "source",
            f"a {type(model).__name__} is not a model of transformers",
            hint="use a model that generates text, such as hf:llama or hf:t5",
        )
    if not model.can_generate():
        raise Error(
            "source",
            f"{type(model).__name__} does not generate text",
            hint="use a model with its language-model head (AutoModelForCausalLM)",
        )
