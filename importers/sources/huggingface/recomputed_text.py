"""Models without a usable cache: every step computes the whole text again.

The cache holds the text instead of keys and values. It is a plain dict of tensors:

- `length`, int64 scalar: the number of filled positions;
- `tokens`, int64 of (batch, max_length): the text, and any tokens behind it;
- of a decoder, `padding`, int64 of (batch): the number of padding positions at the start;
- of an encoder-decoder, `source_mask` and `states`: the mask and the states of the prompt.

The model runs on all `max_length` positions. Its attention is causal, so the tokens behind the text
do not change the logits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel

from importers.sources.huggingface.static_cache import Tensors, first_position

RECOMPUTED = "every step computes the whole text again"


def text_cache(batch: int, max_length: int) -> Tensors:
    """Returns the cache of a decoder without tokens."""
    return {
        "length": torch.zeros((), dtype=torch.int64),
        "padding": torch.zeros(batch, dtype=torch.int64),
        "tokens": torch.zeros(batch, max_length, dtype=torch.int64),
    }


def recompute(
    self: PreTrainedModel, input_ids: torch.Tensor, cache: Tensors
) -> tuple[torch.Tensor, Tensors]:
    """Computes the logits of the last token of a decoder, (batch, vocabulary), and the new cache.

    Args:
        input_ids: int64 of (batch, tokens).
    """
    tokens, last = _with_tokens(cache, input_ids)
    accepted = inspect.signature(type(self).forward).parameters
    positions = torch.arange(tokens.shape[1])[None]
    padding = cache["padding"][:, None]
    options: dict[str, Any] = {}
    if "attention_mask" in accepted:
        options["attention_mask"] = (positions >= padding).long()
    if "position_ids" in accepted:
        options["position_ids"] = (positions - padding).clamp(min=0)
    if "use_cache" in accepted:
        options["use_cache"] = False
    result = type(self).forward(self, input_ids=tokens, return_dict=True, **options)
    return _logits_at(result.logits, last), {
        "length": last + 1,
        "padding": cache["padding"].clone(),
        "tokens": tokens,
    }


def recomputing_decoder(
    forward: Callable[..., Any],
) -> Callable[[PreTrainedModel, torch.Tensor, Tensors], tuple[torch.Tensor, Tensors]]:
    """Returns the function of an encoder-decoder's `decode`.

    Args:
        forward: called with the model, the states and mask of the prompt, and the decoder's ids;
            returns the model's result.
    """

    def decode(
        self: PreTrainedModel, decoder_input_ids: torch.Tensor, cache: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        tokens, last = _with_tokens(cache, decoder_input_ids)
        result = forward(self, cache["states"], cache["source_mask"], tokens)
        return _logits_at(result.logits, last), {
            "length": last + 1,
            "source_mask": cache["source_mask"].clone(),
            "states": cache["states"].clone(),
            "tokens": tokens,
        }

    return decode


def _with_tokens(cache: Tensors, new: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the text with new tokens, and the position of the last one."""
    count = new.shape[1]
    first = first_position(cache, count, cache["tokens"].shape[1])
    tokens = cache["tokens"].slice_scatter(new, dim=1, start=first, end=first + count)
    return tokens, cache["length"] + count - 1


def _logits_at(logits: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
    return logits.index_select(1, position.reshape(1))[:, 0]
