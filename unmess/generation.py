"""Text from a decoder on a runner: prefill, decode, and the choice of each token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from importers.sources.source import Source
from unmess.api import as_source, capture_generation, load
from unmess.core import cache_length
from unmess.core.error import Error
from unmess.core.names import check_runner
from unmess.core.note import Note
from unmess.core.target_options import TargetOptions
from unmess.sampling import Sampling


@dataclass
class Statistics:
    """What the last text took. Times are in seconds."""

    prompt_tokens: int = 0
    new_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of the steps after the first token; None where there was none."""
        steps = self.new_tokens - 1
        return steps / self.decode_seconds if steps > 0 and self.decode_seconds else None


@dataclass
class Generator:
    """A decoder of transformers on a runner, its key-value cache in the Executable.

    It makes one text at a time: a new text begins with an empty cache.

    Attributes:
        run: the Executable, with the entry points `prefill` and `decode`.
        tokenizer: of transformers, or None; then only `tokens` can be asked for.
        end: ids of tokens that end a text.
        max_length: positions in the cache, prompt and new tokens together.
        penalty: what the model's generation_config.json says of repetitions; 1 for none.
        notes: what differs from the model that was handed in.
        statistics: of the last text.
    """

    run: Any
    tokenizer: Any
    end: frozenset[int]
    max_length: int
    penalty: float = 1.0
    notes: tuple[Note, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)

    def __call__(
        self,
        prompt: str,
        max_new_tokens: int = 64,
        sampling: Sampling | None = None,
        chat: bool = False,
    ) -> Iterator[str]:
        """The text that follows the prompt, in pieces, each as soon as it is certain.

        Args:
            max_new_tokens: the text is shorter where the model ends it.
            sampling: how tokens are chosen; by default the most likely one.
            chat: the prompt is a user's turn of a conversation, and the text the answer.

        Raises:
            Error: stage `usage`, where there is no tokenizer, no chat template, or the prompt does
                not fit; stage `run`.
        """
        ids = encode(self.tokenizer, prompt, chat)
        chosen: list[int] = []
        shown = ""
        for token in self.tokens(ids, max_new_tokens, sampling):
            chosen.append(token)
            text = self.tokenizer.decode(chosen, skip_special_tokens=True)
            # A character of several tokens is a replacement character until the last one.
            if not text.endswith("\N{REPLACEMENT CHARACTER}"):
                if piece := text[len(shown) :]:
                    yield piece
                shown = text
        if rest := self.tokenizer.decode(chosen, skip_special_tokens=True)[len(shown) :]:
            yield rest

    def tokens(
        self, input_ids: torch.Tensor, max_new_tokens: int = 64, sampling: Sampling | None = None
    ) -> Iterator[int]:
        """The tokens that follow the prompt's, up to one that ends the text, which is the last.

        Args:
            input_ids: int64 of (1, tokens), at least one token.

        Raises:
            Error: stage `usage`, where prompt and new tokens are more than the cache holds; stage
                `run`.
        """
        choose = (sampling or Sampling()).chooser(self.penalty)
        check_length(input_ids.shape[1], max_new_tokens, self.max_length)
        # What is behind the length is never read.
        self.run.state["cache_length"] = torch.zeros((), dtype=torch.int64)
        self.statistics = Statistics(prompt_tokens=input_ids.shape[1])
        step = input_ids
        while self.statistics.new_tokens < max_new_tokens:
            start = time.perf_counter()
            logits = (self.run.decode if step.shape[1] == 1 else self.run.prefill)(step)
            step = choose(input_ids, logits)
            input_ids = torch.cat([input_ids, step], dim=1)
            seconds = time.perf_counter() - start
            if self.statistics.new_tokens:
                self.statistics.decode_seconds += seconds
            else:
                self.statistics.prefill_seconds = seconds
            self.statistics.new_tokens += 1
            token = int(step)
            yield token
            if token in self.end:
                return


def encode(tokenizer: Any, prompt: str, chat: bool = False) -> torch.Tensor:
    """The prompt as token ids, int64 of (1, tokens).

    Args:
        chat: the prompt is a user's turn of a conversation.

    Raises:
        Error: stage `usage`, where there is no tokenizer or no chat template.
    """
    if tokenizer is None:
        raise Error(
            "usage",
            "the model has no tokenizer",
            hint="a folder with its tokenizer's files, or a GGUF file, has one",
        )
    if not chat:
        return tokenizer(prompt, return_tensors="pt").input_ids
    if not tokenizer.chat_template:
        raise Error(
            "usage",
            "the tokenizer has no chat template",
            hint="leave chat out: the text continues the prompt",
        )
    turn = [{"role": "user", "content": prompt}]
    encoded = tokenizer.apply_chat_template(
        turn, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    return encoded["input_ids"]


def check_length(prompt_tokens: int, max_new_tokens: int, max_length: int) -> None:
    """Raises an Error (`usage`) where a cache of `max_length` positions cannot hold the text."""
    if prompt_tokens == 0:
        raise Error("usage", "the prompt is empty", hint="give at least one token")
    if prompt_tokens + max_new_tokens > max_length:
        raise Error(
            "usage",
            f"{prompt_tokens} tokens and {max_new_tokens} new ones are more than the "
            f"{max_length} positions of the cache",
            hint="a larger max_length makes a larger cache",
        )


def load_generator(
    model: str | torch.nn.Module | Source,
    on: str = "iree-cpu",
    max_length: int = cache_length.DEFAULT,
    dtype: torch.dtype | None = None,
    target: TargetOptions | None = None,
) -> Generator:
    """Captures a decoder with its cache, loads it, and finds its tokenizer.

    Args:
        model: a decoder of transformers, a model string such as `hf:FOLDER`, or what
            `importers.sources.find_source` has found for one.
        on: the runner.
        max_length: positions in the cache, prompt and new tokens together.
        dtype: of the weights; by default as they are. The model itself is converted.
        target: as for `load`.

    Raises:
        Error: the stage that failed.
    """
    check_runner(on)
    source = as_source(model)
    if dtype is not None:
        source.model.to(dtype)
    programs = capture_generation(source, max_length=max_length, cache="state")
    settings = source.model.generation_config
    end = settings.eos_token_id
    return Generator(
        run=load(programs, on, target),
        tokenizer=source.tokenizer,
        end=frozenset([] if end is None else [end] if isinstance(end, int) else end),
        max_length=max_length,
        penalty=settings.repetition_penalty or 1.0,
        notes=programs.notes,
    )
