"""Texts that are generated together: the rows of a batch, and the tokens of each text."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence

from unmess.text import TextCounts

# Prefixes of the names of state that must be zero where a text begins.
STATES = ("cache_conv_", "cache_recurrent_")
# The number of tokens of a prompt that a decoder reads at once. Attention takes memory for each
# pair of such a token and a position of the cache.
PROMPT_CHUNK = 256


def left_padded(rows: Sequence[list[int]], batch: int) -> tuple[list[list[int]], list[int]]:
    """Returns the ids for a decoder, and the number of padding positions before each text.

    Args:
        rows: the ids of each prompt, at most `batch` of them. Missing rows are filled.
    """
    width = max(map(len, rows))
    padding = [width - len(row) for row in rows] + [0] * (batch - len(rows))
    ids = [[0] * (width - len(row)) + row for row in rows]
    return ids + [[0] * width] * (batch - len(rows)), padding


def right_padded(rows: Sequence[list[int]], batch: int) -> tuple[list[list[int]], list[list[int]]]:
    """Returns the ids and attention masks for the entry point `encode` of an encoder-decoder.

    `encode` takes at least two tokens, so a single token is padded.

    Args:
        rows: as for `left_padded`.
    """
    width = max(2, *map(len, rows))
    rows = [*rows, *[[0]] * (batch - len(rows))]
    return (
        [row + [0] * (width - len(row)) for row in rows],
        [[1] * len(row) + [0] * (width - len(row)) for row in rows],
    )


def chunk_size(
    entries: Collection[str], state: Collection[str], prompt_chunk: int, tokens: int
) -> int:
    """Returns the number of tokens of a prompt that a decoder reads at once.

    Args:
        entries: the names of the entry points.
        state: the names of the state.
        prompt_chunk: the largest number that the user wants.
        tokens: the number of tokens of the prompt.
    """
    if "prefill" not in entries:
        return 1
    # Without keys and values in the cache, each call computes the whole text again: use one call.
    return tokens if "cache_tokens" in state else prompt_chunk


def tokens_of_each(
    steps: Iterable[Sequence[int]], counts: Sequence[TextCounts], end: Collection[int]
) -> list[Iterator[int]]:
    """Returns the tokens of each text, up to and including one that ends it.

    A step is read when a text needs its token first. Other texts find their tokens of the step
    later. So the texts may be read in any order, and no step is read after all texts have ended.

    Args:
        steps: each has one token for every text.
        counts: of each text; receive the number of tokens that are read.
        end: ids of tokens that end a text.
    """

    def tokens(own: Iterator[Sequence[int]], index: int, count: TextCounts) -> Iterator[int]:
        for step in own:
            count.new_tokens += 1
            yield step[index]
            if step[index] in end:
                return

    copies = itertools.tee(steps, len(counts))
    return [tokens(*each) for each in zip(copies, range(len(counts)), counts, strict=True)]
