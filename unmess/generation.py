"""Generates text with the entry points of a model on a runner, and chooses each token."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
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
from unmess.text import (
    KeptTokenizer,
    Message,
    Statistics,
    check_length,
    padded,
    pieces,
    until,
    without_tokenizer,
)
from unmess.text_settings import logits_processors, notes_of, settings_of

# The beginnings of the names of state that is zero at the start of a text.
_EMPTIED = ("cache_length", "cache_conv_", "cache_recurrent_")


@dataclass
class Generator:
    """A model of transformers on a runner, with its key-value cache in the Executable.

    It generates one text at a time: a new text begins with an empty cache.

    Attributes:
        run: the Executable, with the entry points `prefill` and `decode` of a decoder (only
            `decode` if it has state-space layers), or `encode` and `decode` of an encoder-decoder.
        tokenizer: the model's tokenizer; if it is None, only `tokens` can be called.
        end: ids of tokens that end a text.
        max_length: positions in the cache, prompt and new tokens together; in an encoder-decoder,
            for each of them.
        penalty: the repetition penalty in the model's generation_config.json; 1 for none.
        constraints: fields of generation_config.json that change the scores of tokens, such as
            `forced_bos_token_id`.
        start: the tokens that the decoder of an encoder-decoder starts with; a list of tokens
            stands for the most likely one of them. Empty for a decoder.
        notes: how the program differs from the given model.
        statistics: the statistics of the last text.
    """

    run: Any
    tokenizer: Any
    end: frozenset[int]
    max_length: int
    penalty: float = 1.0
    constraints: dict[str, Any] = field(default_factory=dict)
    start: Sequence[int | Sequence[int]] = ()
    notes: tuple[Note, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        self.end = frozenset(self.end)

    def __call__(
        self,
        prompt: str | Sequence[Message] | torch.Tensor,
        max_new_tokens: int = 64,
        sampling: Sampling | None = None,
        chat: bool = False,
        stop: Sequence[str] = (),
    ) -> Iterator[str]:
        """Yields the text that follows the prompt, each piece as soon as it is complete.

        Args:
            prompt: a text; the messages of a conversation, such as `{"role": "user", "content":
                "Hello"}`; or the argument of `tokens`, such as the features of a sound.
            max_new_tokens: tokens at most; the model may end the text earlier.
            sampling: how tokens are chosen; by default the most likely one.
            chat: the prompt is a user's turn of a conversation, and the text the answer.
            stop: strings that end the text; they are not part of it.

        Raises:
            Error: stage `usage`, if there is no tokenizer, no chat template, or the prompt does
                not fit; stage `run`.
        """
        if self.tokenizer is None:
            raise without_tokenizer()
        if isinstance(prompt, str) and chat:
            prompt = [{"role": "user", "content": prompt}]
        is_ids = isinstance(prompt, torch.Tensor)
        ids = prompt if is_ids else encode(self.tokenizer, prompt)
        tokens = self.tokens(ids, max_new_tokens, sampling)
        yield from until(pieces(self.tokenizer, tokens), stop)

    def tokens(
        self, input_ids: torch.Tensor, max_new_tokens: int = 64, sampling: Sampling | None = None
    ) -> Iterator[int]:
        """Yields the tokens that follow the prompt, up to and including one that ends the text.

        Args:
            input_ids: int64 of (1, tokens), at least one token; for an encoder-decoder of sound or
                images, its main input instead, such as Whisper's `input_features`.

        Raises:
            Error: stage `usage`, if prompt and new tokens are more than the cache holds; stage
                `run`.
        """
        is_text = input_ids.dtype == torch.int64
        prompt_tokens = input_ids.shape[1] if is_text else len(self.start)
        check_length(prompt_tokens, max_new_tokens, self.max_length, len(self.start))
        choose = self._chooser(input_ids, max_new_tokens, sampling or Sampling())
        self.statistics = Statistics(prompt_tokens=prompt_tokens)
        if max_new_tokens < 1:
            return
        start = time.perf_counter()
        read = self._read_encoder_prompt if self.start else self._read_prompt
        ids, logits = read(input_ids)
        while True:
            step = choose(ids, logits)
            ids = torch.cat([ids, step], dim=1)
            self.statistics.add(time.perf_counter() - start)
            token = int(step)
            yield token
            if token in self.end or self.statistics.new_tokens == max_new_tokens:
                return
            start = time.perf_counter()
            logits = self.run.decode(step)

    def _chooser(
        self, input_ids: torch.Tensor, max_new_tokens: int, sampling: Sampling
    ) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
        if not self.constraints:
            return sampling.chooser(self.penalty)
        process = logits_processors(
            self.constraints,
            self.penalty,
            self.end,
            input_ids,
            len(self.start) or input_ids.shape[1],
            max_new_tokens,
        )
        choose = sampling.chooser()
        return lambda ids, logits: choose(ids, process(ids, logits.float()))

    def _read_prompt(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Reads the prompt of a decoder. Returns the ids so far, and logits."""
        for name, tensor in self.run.state.items():
            # Positions of keys and values behind the length are never read.
            if name.startswith(_EMPTIED):
                self.run.state[name] = torch.zeros_like(tensor)
        if "prefill" in self.run.signatures and input_ids.shape[1] > 1:
            return input_ids, self.run.prefill(input_ids)
        for token in input_ids[0].tolist():
            logits = self.run.decode(torch.tensor([[token]]))
        return input_ids, logits

    def _read_encoder_prompt(self, input_ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Reads the prompt of an encoder-decoder. Returns the decoder's ids so far, and logits."""
        if input_ids.dtype == torch.int64:
            self.run.encode(*map(torch.tensor, padded(input_ids[0].tolist())))
        else:
            self.run.encode(input_ids)
        ids = torch.empty((1, 0), dtype=torch.int64)
        logits = None
        for token in self.start:
            if not isinstance(token, int):
                token = max(token, key=lambda candidate: float(logits[0, candidate]))
            step = torch.tensor([[token]])
            ids = torch.cat([ids, step], dim=1)
            logits = self.run.decode(step)
        return ids, logits


def encode(tokenizer: Any, prompt: str | Sequence[Message]) -> torch.Tensor:
    """Converts the prompt to token ids, int64 of (1, tokens).

    Args:
        prompt: a text, or the messages of a conversation.

    Raises:
        Error: stage `usage`, if there is no tokenizer or no chat template.
    """
    if tokenizer is None:
        raise without_tokenizer()
    if isinstance(tokenizer, KeptTokenizer):
        return torch.tensor([tokenizer.encode(prompt)])
    if isinstance(prompt, str):
        return tokenizer(prompt, return_tensors="pt").input_ids
    if not tokenizer.chat_template:
        raise Error(
            "usage",
            "the tokenizer has no chat template",
            hint="omit chat, to continue the prompt as plain text",
        )
    encoded = tokenizer.apply_chat_template(
        list(prompt), add_generation_prompt=True, return_tensors="pt", return_dict=True
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
    """Captures a model with its cache, loads it, and finds its tokenizer.

    Args:
        model: a decoder or encoder-decoder of transformers, a model string such as `hf:FOLDER`, or
            its Source from `importers.sources.find_source`.
        on: the runner.
        max_length: positions in the cache, prompt and new tokens together; in an encoder-decoder,
            for each of them.
        dtype: of the weights; by default unchanged. The model itself is converted.
        trust: as for `capture`.
        target, unchecked: as for `load`.

    Raises:
        Error: the stage that failed.
    """
    check_runner(on)
    source = as_source(model, trust)
    programs = capture_decoder(source, max_length, dtype)
    return Generator(
        run=load(programs, on, target, unchecked=unchecked),
        tokenizer=source.tokenizer,
        max_length=max_length,
        notes=programs.notes,
        **settings_of(source),
    )


def capture_decoder(
    source: Source, max_length: int | None, dtype: torch.dtype | None = None
) -> Programs:
    """Captures a model with its cache as state. Converts the model itself if `dtype` is given.

    Packed weights are then unpacked once, except to f32: the runners' fast products are in f32.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    if dtype is not None:
        source.model.to(dtype)
    programs = capture_generation(source, max_length=max_length, cache="state")
    programs.source_notes += notes_of(source)
    if dtype in (None, torch.float32):
        return programs
    # Imported here to save start-up time: it imports parts of Inductor.
    from importers.folding import unpack_weights

    return unpack_weights(programs)
