"""Example inputs of text models: token ids, and what goes with them."""

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
# Below that of any text model beside the main one.
SMALL_VOCABULARY = 256


def token_ids(
    vocabulary: int, batch: int = BATCH, length: int = LENGTH, *codes: int
) -> torch.Tensor:
    """Random ids, int64 of (batch, length, *codes).

    Ids at either end of a vocabulary are often special.
    """
    return torch.randint(vocabulary // 8, max(vocabulary * 7 // 8, 1), (batch, length, *codes))


def padding_mask(ids: torch.Tensor) -> torch.Tensor:
    """1 for a token, 0 for padding: the last text is shorter.

    One without padding would not do: for a mask of ones some models of transformers compute another
    thing in eager than in a graph, where its values are not known (AIMv2 forgets to be causal).
    """
    mask = torch.ones_like(ids)
    mask[-1, -PADDING:] = 0
    return mask


def shifted(ids: torch.Tensor, start: int) -> torch.Tensor:
    """What a decoder sees in training: the text shifted by one."""
    return torch.cat([torch.full_like(ids[:, :1], start), ids[:, :-1]], dim=1)


def vocabulary_of(model: Any) -> int:
    """Number of token ids that a model takes."""
    try:
        return model.get_input_embeddings().num_embeddings
    except (AttributeError, NotImplementedError):
        names = ("vocab_size", "input_vocab_size", "audio_vocab_size")
        return first(model.config, *names, default=SMALL_VOCABULARY)


def decoder_start(model: Any) -> int:
    """The token that a decoder starts from."""
    settings = (getattr(model, "generation_config", None), model.config.get_text_config())
    for name in ("decoder_start_token_id", "pad_token_id", "bos_token_id"):
        for holder in settings:
            token = getattr(holder, name, None)
            if isinstance(token, int):
                return token
    return 0


def boxes(ids: torch.Tensor) -> torch.Tensor:
    """A box on the page for each token, int64 of (batch, length, 4) in thousandths, ordered."""
    return torch.randint(0, 500, (*ids.shape, 4)) + torch.tensor([0, 0, 500, 500])
