"""Generates text with a model's bundle and NumPy; it always takes the most likely token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unmess.text import KeptTokenizer, Statistics, TextCounts, check_length, pieces, until
from unmess.text_groups import (
    PROMPT_CHUNK,
    STATES,
    chunk_size,
    left_padded,
    right_padded,
    tokens_of_each,
)

if TYPE_CHECKING:
    from unmess.bundle import Bundle


@dataclass
class Writer:
    """A model on iree-cpu, without PyTorch. It generates one text at a time, or a batch together.

    Attributes:
        bundle: has the entry points of `unmess.Generator.run`.
        end, max_length, penalty, batch, prompt_chunk: as for `unmess.Generator`.
        start: as for `unmess.Generator`, without choices.
        statistics: the statistics of the last text, or of the last call of `texts`.
    """

    bundle: Bundle
    tokenizer: KeptTokenizer
    end: frozenset[int]
    max_length: int
    penalty: float
    start: Sequence[int] = ()
    batch: int = 1
    prompt_chunk: int = PROMPT_CHUNK
    statistics: Statistics = field(default_factory=Statistics)

    def __call__(self, prompt: str, max_new_tokens: int, stop: Sequence[str] = ()) -> Iterator[str]:
        """Returns the text that follows the prompt, in pieces, like `unmess.Generator`.

        Raises:
            Error: stage `usage`, if the prompt does not fit; stage `run`.
        """
        ids = self._ids(prompt, max_new_tokens)
        self.statistics = Statistics()
        (tokens,) = self._together([ids], max_new_tokens)
        return until(pieces(self.tokenizer, tokens), stop)

    def texts(
        self, prompts: Sequence[str], max_new_tokens: int, stop: Sequence[str] = ()
    ) -> Iterator[str]:
        """Yields the text that follows each prompt, in order, like `unmess.Generator.texts`.

        Raises:
            Error: stage `usage`, if a prompt does not fit; stage `run`.
        """
        rows = [self._ids(prompt, max_new_tokens) for prompt in prompts]
        self.statistics = Statistics()
        for first in range(0, len(rows), self.batch):
            for tokens in self._together(rows[first : first + self.batch], max_new_tokens):
                yield "".join(until(pieces(self.tokenizer, tokens), stop))

    def _ids(self, prompt: str, max_new_tokens: int) -> list[int]:
        ids = self.tokenizer.encode(prompt)
        check_length(len(ids), max_new_tokens, self.max_length, len(self.start))
        return ids

    def _together(self, rows: list[list[int]], max_new_tokens: int) -> list[Iterator[int]]:
        """Returns an iterator over the tokens of each text, for at most `batch` rows."""
        counts = [TextCounts(len(row)) for row in rows]
        self.statistics.texts += counts
        return tokens_of_each(self._steps(rows, max_new_tokens), counts, self.end)

    def _steps(self, rows: list[list[int]], max_new_tokens: int) -> Iterator[list[int]]:
        """Yields the next token of every text. A text that has ended repeats its last token."""
        step: list[int] = []
        for index in range(max_new_tokens):
            with self.statistics.measuring(is_first=index == 0):
                if index == 0:
                    self.bundle.reset()
                    read = self._read_encoder_prompts if self.start else self._read_prompts
                    rows, logits = read(rows)
                else:
                    logits = self.bundle.decode(self._column(step))
                step = [
                    row[-1] if step and row[-1] in self.end else self._choose(logits[number], row)
                    for number, row in enumerate(rows)
                ]
                rows = [[*row, token] for row, token in zip(rows, step, strict=True)]
            yield step

    def _column(self, step: list[int]) -> np.ndarray:
        """Returns the ids of `decode`, (batch, 1). Rows without a text repeat the first one."""
        return np.array(step + step[:1] * (self.batch - len(step)))[:, None]

    def _read_prompts(self, rows: list[list[int]]) -> tuple[list[list[int]], np.ndarray]:
        """Reads the prompts of a decoder. Returns the ids of each text so far, and logits."""
        ids, padding = map(np.array, left_padded(rows, self.batch))
        names = self._state_names
        if "cache_padding" in names:
            self.bundle.set_state("cache_padding", padding)
        size = chunk_size(self.bundle.signatures, names, self.prompt_chunk, ids.shape[1])
        for position in range(0, ids.shape[1], size):
            if position:
                self._empty_states(padding == position)
            chunk = ids[:, position : position + size]
            logits = (self.bundle.prefill if chunk.shape[1] > 1 else self.bundle.decode)(chunk)
        return rows, logits

    @property
    def _state_names(self) -> set[str]:
        entries = self.bundle.signatures.values()
        return {slot.name for entry in entries for slot in entry.arguments if slot.kind == "state"}

    def _empty_states(self, begins: np.ndarray) -> None:
        """Sets the states of state-space layers to zero in rows whose text begins now.

        Args:
            begins: bool of (batch).
        """
        if not begins.any() or not any(name.startswith(STATES) for name in self._state_names):
            return
        for name, state in self.bundle.state.items():
            if name.startswith(STATES):
                state[begins] = 0
                self.bundle.set_state(name, state)

    def _read_encoder_prompts(self, rows: list[list[int]]) -> tuple[list[list[int]], np.ndarray]:
        """Reads the prompts of an encoder-decoder.

        Returns:
            The decoder's ids of each text so far, and logits.
        """
        self.bundle.encode(*map(np.array, right_padded(rows, self.batch)))
        for token in self.start:
            logits = self.bundle.decode(self._column([token]))
        return [list(self.start) for _ in rows], logits

    def _choose(self, logits: np.ndarray, ids: list[int]) -> int:
        """Returns the most likely token; `logits` has shape (vocabulary)."""
        scores = logits.astype(np.float32)
        if self.penalty != 1.0:
            there = np.unique(np.array(ids))
            penalty = np.float32(self.penalty)
            old = scores[there]
            scores[there] = np.where(old < 0, old * penalty, old / penalty)
        return int(scores.argmax())
