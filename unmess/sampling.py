"""Chooses the next token from the logits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from unmess.core.errors.error import Error
from unmess.core.program.note import Note

# Logits divided by less may be infinite in float32, which makes the probabilities NaN.
_COLDEST = 1e-5
# The seeds that PyTorch's random number generator accepts.
_SEEDS = range(-(2**63), 2**64)


@dataclass(frozen=True)
class Sampling:
    """Options for choosing tokens, with the names of transformers. By default, greedy.

    Attributes:
        temperature: the divisor of the logits; 0 is greedy.
        top_k: sample from this many of the most likely tokens.
        top_p: sample from the most likely tokens that together have this probability.
        seed: of the random numbers; the same seed gives the same text. By default, it differs each
            time. Without another option it has no effect, because greedy decoding uses no random
            numbers. The random numbers of the text with index `i` are those of the seed plus `i`.

    Raises:
        Error: stage `usage`, for a number out of range.
    """

    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for name, value, good, range_ in (
            (
                "temperature",
                self.temperature,
                lambda t: t == 0 or _COLDEST <= t < math.inf,
                f"at least {_COLDEST}, or 0 for the most likely token",
            ),
            ("top_k", self.top_k, lambda k: k >= 1, "at least 1"),
            ("top_p", self.top_p, lambda p: 0 < p <= 1, "above 0, at most 1"),
            ("seed", self.seed, lambda n: n in _SEEDS, "at least -2**63, below 2**64"),
        ):
            if value is not None and not good(value):
                raise Error("usage", f"{name} is {value}", hint=range_)

    @property
    def greedy(self) -> bool:
        """Whether the most likely token is taken."""
        if self.temperature is None:
            return self.top_k is None and self.top_p is None
        return self.temperature == 0

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes about options that have no effect."""
        if self.seed is None or not self.greedy:
            return ()
        text = (
            "the seed has no effect: without sampling, the most likely token is chosen; set "
            "a temperature to sample"
        )
        return (Note("sampling", text),)

    def of_text(self, index: int) -> Sampling:
        """Returns the options for the text with this index among several."""
        if self.seed is None:
            return self
        seed = self.seed + index
        return replace(self, seed=seed if seed in _SEEDS else seed - 2**64)

    def chooser(self, penalty: float = 1.0) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        """Returns a function that chooses the next ids, (batch, 1).

        Its arguments are the ids so far, (batch, tokens), and the logits, (batch, vocabulary).

        Args:
            penalty: for tokens that occur already, like transformers' `repetition_penalty`.
        """
        random = torch.Generator()
        random.seed() if self.seed is None else random.manual_seed(self.seed)

        def choose(input_ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
            scores = _penalized(logits.float(), input_ids, penalty)
            if self.greedy:
                # NumPy: PyTorch would start its threads, which takes longer than the search.
                return torch.from_numpy(scores.numpy().argmax(-1, keepdims=True))
            scores = self._limited(scores)
            return torch.multinomial(scores.softmax(-1), 1, generator=random)

        return choose

    def _limited(self, scores: torch.Tensor) -> torch.Tensor:
        """Returns the scores with those of excluded tokens at minus infinity.

        Computes the same as transformers' logits processors, whose import takes seconds.
        """
        if self.temperature is not None:
            scores = scores / self.temperature
        if self.top_k is not None:
            least = scores.topk(min(self.top_k, scores.shape[-1])).values[..., -1:]
            scores = scores.masked_fill(scores < least, -math.inf)
        if self.top_p is not None and self.top_p < 1.0:
            ascending, order = scores.sort()
            is_rest = ascending.softmax(-1).cumsum(-1) <= 1 - self.top_p
            is_rest[..., -1] = False
            scores = scores.masked_fill(is_rest.scatter(-1, order, is_rest), -math.inf)
        return scores


def _penalized(scores: torch.Tensor, input_ids: torch.Tensor, penalty: float) -> torch.Tensor:
    """Lowers the scores of tokens that occur already."""
    if penalty == 1.0 or not input_ids.shape[1]:
        return scores
    there = scores.gather(1, input_ids)
    return scores.scatter(1, input_ids, torch.where(there < 0, there * penalty, there / penalty))
