"""Checks in eager that a text has the same logits alone and beside a longer one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from importers.cache_length import FEWEST, PROMPT
from importers.sources.huggingface.cache_check import is_close
from importers.sources.huggingface.cached_decoder import is_recurrent
from importers.sources.huggingface.generation import generation_entries
from importers.sources.huggingface.static_cache import Tensors
from importers.sources.huggingface.text import decoder_start, token_ids, vocabulary_of
from importers.sources.random_weights import seeded
from importers.sources.source import Source
from unmess.core.errors.error import Error

# The number of padding positions of the shorter text.
_PADDING = 5


def check_padding(model: Any) -> None:
    """Refuses a model that computes something else for a text with padding.

    Raises:
        Error: stage `usage`, if the logits differ by more than rounding; otherwise as
            `generation_entries`.
    """
    entries = generation_entries(model, batch=2, max_length=FEWEST)
    with seeded(), torch.no_grad():
        ids = token_ids(vocabulary_of(model), 2, PROMPT)
        if "encode" not in entries:
            alone, together = _decoder_logits(entries, ids)
        elif model.main_input_name == "input_ids":
            alone, together = _encoder_decoder_logits(entries, ids, decoder_start(model))
        else:
            # Inputs of one size have no padding.
            return
    if not is_close(together, alone):
        raise Error(
            "usage",
            f"{type(model).__name__} computes other logits for a text beside a longer one",
            hint="generate one text at a time: batch 1",
        )


def _decoder_logits(
    entries: Mapping[str, Source], ids: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the logits, (vocabulary), of the second text alone and with padding."""
    first = entries.get("prefill", entries["decode"])
    forward, empty = first.model.forward, first.args[1]
    one = torch.utils._pytree.tree_map(lambda tensor: tensor[1:] if tensor.dim() else tensor, empty)
    two = empty
    if "padding" in empty:
        two = empty | {"padding": torch.tensor([0, _PADDING])}
    count = ids.shape[1] if "prefill" in entries else 1
    for step in ids[1:, _PADDING:].split(count, dim=1):
        alone, one = forward(step, one)
    for position, step in enumerate(ids.split(count, dim=1)):
        if position == _PADDING and is_recurrent(two):
            two = _second_emptied(two)
        together, two = forward(step, two)
    return alone[0], together[1]


def _second_emptied(cache: Tensors) -> Tensors:
    """Returns a cache whose second text has empty states."""
    keep = torch.tensor([1, 0])
    states = {
        name: [state * keep.view(-1, *[1] * (state.dim() - 1)) for state in cache.get(name, ())]
        for name in ("conv", "recurrent")
    }
    return cache | {name: tensors for name, tensors in states.items() if tensors}


def _encoder_decoder_logits(
    entries: Mapping[str, Source], ids: torch.Tensor, start: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the logits, (vocabulary), of the second text alone and with padding."""
    mask = torch.ones_like(ids)
    mask[1, -_PADDING:] = 0
    encode, decode = (entries[name].model.forward for name in ("encode", "decode"))
    logits = []
    for tokens, ones in ((ids[1:, :-_PADDING], mask[1:, :-_PADDING]), (ids, mask)):
        _, cache = encode(tokens, ones)
        logits.append(decode(torch.full((len(tokens), 1), start), cache)[0][-1])
    return logits[0], logits[1]
