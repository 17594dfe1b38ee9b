"""Generates text with a decoder on a runner: prefill, decode, and the choice of each token."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from importers import cache_length
from importers.sources.source import Source
from pipelines.backends.table import check_runner
from unmess.api import as_source, capture_generation, load
from unmess.core.errors.error import Error
from unmess.core.errors.failure import only_errors
from unmess.core.options.target_options import TargetOptions
from unmess.core.program.note import Note
from unmess.core.program.programs import Programs
from unmess.sampling import Sampling
from unmess.text import KeptTokenizer, Statistics, check_length, pieces, without_tokenizer


@dataclass
class Generator:
    """A decoder of transformers on a runner, with its key-value cache in the Executable.

    It generates one text at a time: a new text begins with an empty cache.

    Attributes:
        run: the Executable, with the entry points `prefill` and `decode`.
        tokenizer: the model's tokenizer; if it is None, only `tokens` can be called.
        end: ids of tokens that end a text.
        max_length: positions in the cache, prompt and new tokens together.
        penalty: the repetition penalty in the model's generation_config.json; 1 for none.
        notes: how the program differs from the given model.
        statistics: the statistics of the last text.
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
        """Yields the text that follows the prompt, each piece as soon as it is complete.

        Args:
            max_new_tokens: tokens at most; the model may end the text earlier.
            sampling: how tokens are chosen; by default the most likely one.
            chat: the prompt is a user's turn of a conversation, and the text the answer.

        Raises:
            Error: stage `usage`, if there is no tokenizer, no chat template, or the prompt does
                not fit; stage `run`.
        """
        ids = encode(self.tokenizer, prompt, chat)
        yield from pieces(self.tokenizer, self.tokens(ids, max_new_tokens, sampling))

    def tokens(
        self, input_ids: torch.Tensor, max_new_tokens: int = 64, sampling: Sampling | None = None
    ) -> Iterator[int]:
        """Yields the tokens that follow the prompt, up to and including one that ends the text.

        Args:
            input_ids: int64 of (1, tokens), at least one token.

        Raises:
            Error: stage `usage`, if prompt and new tokens are more than the cache holds; stage
                `run`.
        """
        choose = (sampling or Sampling()).chooser(self.penalty)
        check_length(input_ids.shape[1], max_new_tokens, self.max_length)
        # This empties the cache: positions behind its length are never read.
        self.run.state["cache_length"] = torch.zeros((), dtype=torch.int64)
        self.statistics = Statistics(prompt_tokens=input_ids.shape[1])
        step = input_ids
        while self.statistics.new_tokens < max_new_tokens:
            start = time.perf_counter()
            logits = (self.run.decode if step.shape[1] == 1 else self.run.prefill)(step)
            step = choose(input_ids, logits)
            input_ids = torch.cat([input_ids, step], dim=1)
            self.statistics.add(time.perf_counter() - start)
            token = int(step)
            yield token
            if token in self.end:
                return


def encode(tokenizer: Any, prompt: str, chat: bool = False) -> torch.Tensor:
    """Converts the prompt to token ids, int64 of (1, tokens).

    Args:
        chat: the prompt is a user's turn of a conversation.

    Raises:
        Error: stage `usage`, if there is no tokenizer or no chat template.
    """
    if tokenizer is None:
        raise without_tokenizer()
    if isinstance(tokenizer, KeptTokenizer):
        return torch.tensor([tokenizer.encode(prompt)])
    if not chat:
        return tokenizer(prompt, return_tensors="pt").input_ids
    if not tokenizer.chat_template:
        raise Error(
            "usage",
            "the tokenizer has no chat template",
            hint="omit chat, to continue the prompt as plain text",
        )
    turn = [{"role": "user", "content": prompt}]
    encoded = tokenizer.apply_chat_template(
        turn, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    return encoded["input_ids"]


@only_errors()
def load_generator(
    model: str | torch.nn.Module | Source,
    on: str = "iree-cpu",
    max_length: int = cache_length.DEFAULT,
    dtype: torch.dtype | None = None,
    target: TargetOptions | None = None,
    trust: bool = False,
    unchecked: bool = False,
) -> Generator:
    """Captures a decoder with its cache, loads it, and finds its tokenizer.

    Args:
        model: a decoder of transformers, a model string such as `hf:FOLDER`, or its Source from
            `importers.sources.find_source`.
        on: the runner.
        max_length: positions in the cache, prompt and new tokens together.
        dtype: of the weights; by default unchanged. The model itself is converted.
        trust: as for `capture`.
        target, unchecked: as for `load`.

    Raises:
        Error: the stage that failed.
    """
    check_runner(on)
    source = as_source(model, trust)
    programs = capture_decoder(source, max_length, dtype)
    settings = settings_of(source)
    return Generator(
        run=load(programs, on, target, unchecked=unchecked),
        tokenizer=source.tokenizer,
        end=frozenset(settings["end"]),
        max_length=max_length,
        penalty=settings["penalty"],
        notes=programs.notes,
    )


def capture_decoder(
    source: Source, max_length: int | None, dtype: torch.dtype | None = None
) -> Programs:
    """Captures a decoder with its cache as state. Converts the model itself if `dtype` is given.

    Packed weights are then unpacked once, except to f32: the runners' fast products are in f32.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    if dtype is not None:
        source.model.to(dtype)
    programs = capture_generation(source, max_length=max_length, cache="state")
    if dtype in (None, torch.float32):
        return programs
    # Imported here to save start-up time: it imports parts of Inductor.
    from importers.folding import unpack_weights

    return unpack_weights(programs)


def settings_of(source: Source) -> dict[str, Any]:
    """Returns the ids that `end` a text and the `penalty`, from the model's generation config."""
    settings = source.model.generation_config
    end = settings.eos_token_id
    return {
        "end": [] if end is None else [end] if isinstance(end, int) else list(end),
        "penalty": settings.repetition_penalty or 1.0,
    }
