"""Generates text with a model's bundle and NumPy; it always takes the most likely token."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unmess.text import KeptTokenizer, Statistics, check_length, padded, pieces

if TYPE_CHECKING:
    from unmess.bundle import Bundle


@dataclass
class Writer:
    """A model on iree-cpu, without PyTorch. It generates one text at a time.

    Attributes:
        bundle: has the entry points of `unmess.Generator.run`.
        end, max_length, penalty, start: as for `unmess.Generator`; `start` without choices.
        statistics: the statistics of the last text.
    """

    bundle: Bundle
    tokenizer: KeptTokenizer
    end: frozenset[int]
    max_length: int
    penalty: float
    start: Sequence[int] = ()
    statistics: Statistics = field(default_factory=Statistics)

    def __call__(self, prompt: str, max_new_tokens: int) -> Iterator[str]:
        """Returns the text that follows the prompt, in pieces, like `unmess.Generator`.

        Raises:
            Error: stage `usage`, if the prompt does not fit; stage `run`.
        """
        ids = self.tokenizer.encode(prompt)
        check_length(len(ids), max_new_tokens, self.max_length, len(self.start))
        return pieces(self.tokenizer, self._tokens(ids, max_new_tokens))

    def _tokens(self, ids: list[int], max_new_tokens: int) -> Iterator[int]:
        self.bundle.reset()
        self.statistics = Statistics(prompt_tokens=len(ids))
        start = time.perf_counter()
        ids, logits = self._read_encoder_prompt(ids) if self.start else self._read_prompt(ids)
        while True:
            token = self._choose(logits, ids)
            ids.append(token)
            self.statistics.add(time.perf_counter() - start)
            yield token
            if token in self.end or self.statistics.new_tokens == max_new_tokens:
                return
            start = time.perf_counter()
            logits = self.bundle.decode(np.array([[token]]))

    def _read_prompt(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Reads the prompt of a decoder. Returns the ids so far, and logits."""
        if "prefill" in self.bundle.signatures and len(ids) > 1:
            return list(ids), self.bundle.prefill(np.array([ids]))
        for token in ids:
            logits = self.bundle.decode(np.array([[token]]))
        return list(ids), logits

    def _read_encoder_prompt(self, ids: list[int]) -> tuple[list[int], np.ndarray]:
        """Reads the prompt of an encoder-decoder. Returns the decoder's ids so far, and logits."""
        self.bundle.encode(*map(np.array, padded(ids)))
        for token in self.start:
            logits = self.bundle.decode(np.array([[token]]))
        return list(self.start), logits

    def _choose(self, logits: np.ndarray, ids: list[int]) -> int:
        """Returns the most likely token; `logits` has shape (1, vocabulary)."""
        scores = logits[0].astype(np.float32)
        if self.penalty != 1.0:
            there = np.unique(np.array(ids))
            penalty = np.float32(self.penalty)
            old = scores[there]
            scores[there] = np.where(old < 0, old * penalty, old / penalty)
        return int(scores.argmax())
