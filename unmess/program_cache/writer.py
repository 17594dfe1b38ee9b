"""Generates text with the bundle of a decoder and NumPy; it always takes the most likely token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from unmess.text import KeptTokenizer, Statistics, check_length, pieces

if TYPE_CHECKING:
    from unmess.bundle import Bundle


@dataclass
class Writer:
    """A decoder on iree-cpu, without PyTorch. It generates one text at a time.

    Attributes:
        bundle: has the entry points `prefill` and `decode`.
        end, max_length, penalty: as for `unmess.Generator`.
        statistics: the statistics of the last text.
    """

    bundle: Bundle
    tokenizer: KeptTokenizer
    end: frozenset[int]
    max_length: int
    penalty: float
    statistics: Statistics = field(default_factory=Statistics)

    def __call__(self, prompt: str, max_new_tokens: int) -> Iterator[str]:
        """Returns the text that follows the prompt, in pieces, like `unmess.Generator`.

        Raises:
            Error: stage `usage`, if the prompt does not fit; stage `run`.
        """
        ids = self.tokenizer.encode(prompt)
        check_length(len(ids), max_new_tokens, self.max_length)
        return pieces(self.tokenizer, self._tokens(ids, max_new_tokens))

    def _tokens(self, ids: list[int], max_new_tokens: int) -> Iterator[int]:
        self.bundle.reset()
        self.statistics = Statistics(prompt_tokens=len(ids))
        step, ids = ids, list(ids)
        while self.statistics.new_tokens < max_new_tokens:
            start = time.perf_counter()
            entry = self.bundle["decode" if len(step) == 1 else "prefill"]
            token = self._choose(entry(np.array([step])), ids)
            step = [token]
            ids.append(token)
            self.statistics.add(time.perf_counter() - start)
            yield token
            if token in self.end:
                return

    def _choose(self, logits: np.ndarray, ids: list[int]) -> int:
        """Returns the most likely token; `logits` has shape (1, vocabulary)."""
        scores = logits[0].astype(np.float32)
        if self.penalty != 1.0:
            there = np.unique(np.array(ids))
            penalty = np.float32(self.penalty)
            old = scores[there]
            scores[there] = np.where(old < 0, old * penalty, old / penalty)
        return int(scores.argmax())
