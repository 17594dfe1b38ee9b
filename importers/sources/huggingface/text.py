"""Example inputs of text models: token ids, masks and boxes."""

from __future__ import annotations

from typing import Any

import torch

from importers.sources.huggingface.parts import first

SENTENCES = (
    "A man is playing a guitar on a street corner.",
    "Somebody makes music outdoors.",
    "The central bank raised interest rates on Monday.",
)
BATCH, LENGTH, PADDING = 2, 16, 4
# Smaller than the vocabulary of any additional text model.
SMALL_VOCABULARY = 256


def token_ids(
    vocabulary: int, batch: int = BATCH, length: int = LENGTH, *codes: int
) -> torch.Tensor:
    """Returns random ids, int64 of (batch, length, *codes).

    Ids at either end of a vocabulary are often special, so they are avoided.
    """
    return torch.randint(vocabulary // 8, max(vocabulary * 7 // 8, 1), (batch, length, *codes))


def padding_mask(ids: torch.Tensor) -> torch.Tensor:
    """Returns a mask with 1 for tokens and 0 for padding at the end of the last text.

    The mask must contain padding. For a mask of ones, some transformers models compute different
    results in eager than in a graph, where its values are not known (AIMv2 omits the causal mask).
    """
    mask = torch.ones_like(ids)
    mask[-1, -PADDING:] = 0
    return mask


def shifted(ids: torch.Tensor, start: int) -> torch.Tensor:
    """Returns decoder inputs as in training: the text shifted right by one token."""
    return torch.cat([torch.full_like(ids[:, :1], start), ids[:, :-1]], dim=1)


def vocabulary_of(model: Any) -> int:
    """Returns the vocabulary size of a model."""
    try:
        return model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):
        names = ("vocab_size", "input_vocab_size", "audio_vocab_size")
        return first(model.config, *names, default=SMALL_VOCABULARY)


def decoder_start(model: Any) -> int:
    """Returns the start token of a decoder."""
    settings = (getattr(model, "generation_config", None), model.config.get_text_config())
    for name in ("decoder_start_token_id", "pad_token_id", "bos_token_id"):
        for holder in settings:
            token = getattr(holder, name, None)
            if isinstance(token, int):
                return token
    return 0


def boxes(ids: torch.Tensor) -> torch.Tensor:
    """Returns a box on the page for each token, int64 of (batch, length, 4).

    Coordinates are thousandths of the page, lower corner first.
    """
    return torch.randint(0, 500, (*ids.shape, 4)) + torch.tensor([0, 0, 500, 500])
