"""Generates text with the entry points of a model on a runner, and chooses each token."""

from __future__ import annotations

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
    TextCounts,
    check_length,
    pieces,
    until,
    without_tokenizer,
)
from unmess.text_groups import (
    PROMPT_CHUNK,
    STATES,
    chunk_size,
    left_padded,
    right_padded,
    tokens_of_each,
)
from unmess.text_settings import logits_processors, notes_of, settings_of

# Prefixes of the names of state that must be zero at the start of a text.
_EMPTIED = ("cache_length", *STATES)

# A text, the messages of a conversation, or the main input of the model.
Prompt = str | Sequence[Message] | torch.Tensor
# Takes the ids so far, (1, tokens), and logits, (1, vocabulary); returns the next id, (1, 1).
Chooser = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass
class Generator:
    """A model of transformers on a runner, with its key-value cache in the Executable.

    It generates one text at a time, or as many together as its batch. New texts begin with an empty
    cache.

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
        batch: the number of texts that are generated together.
        prompt_chunk: the largest number of tokens of a prompt that a decoder reads at once.
        notes: how the program differs from the given model.
        statistics: the statistics of the last text, or of the last call of `texts`.
    """

    run: Any
    tokenizer: Any
    end: frozenset[int]
    max_length: int
    penalty: float = 1.0
    constraints: dict[str, Any] = field(default_factory=dict)
    start: Sequence[int | Sequence[int]] = ()
    batch: int = 1
    prompt_chunk: int = PROMPT_CHUNK
    notes: tuple[Note, ...] = ()
    statistics: Statistics = field(default_factory=Statistics)

    def __post_init__(self) -> None:
        self.end = frozenset(self.end)

    def __call__(
        self,
        prompt: Prompt,
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
        tokens = self.tokens(self._input(prompt, chat), max_new_tokens, sampling)
        yield from until(pieces(self.tokenizer, tokens), stop)

    def texts(
        self,
        prompts: Sequence[Prompt],
        max_new_tokens: int = 64,
        sampling: Sampling | None = None,
        chat: bool = False,
        stop: Sequence[str] = (),
    ) -> Iterator[str]:
        """Yields the text that follows each prompt, in order, as soon as it is complete.

        As many texts as the batch are generated together. Each is the same as after its prompt
        alone: it ends on its own while others continue. With a seed, it is the text of that seed
        plus the index of its prompt.

        Args:
            prompts: any number of them.
            max_new_tokens, sampling, chat, stop: as for a single prompt.

        Raises:
            Error: as for a single prompt, before any text is generated.
        """
        inputs = [self._input(prompt, chat) for prompt in prompts]
        for each in inputs:
            self._check(each, max_new_tokens)
        sampling = sampling or Sampling()
        options = [sampling.of_text(index) for index in range(len(inputs))]
        self.statistics = Statistics()
        for first in range(0, len(inputs), self.batch):
            group = slice(first, first + self.batch)
            for tokens in self._together(inputs[group], max_new_tokens, options[group]):
                yield "".join(until(pieces(self.tokenizer, tokens), stop))

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
        self._check(input_ids, max_new_tokens)
        self.statistics = Statistics()
        (tokens,) = self._together([input_ids], max_new_tokens, [sampling or Sampling()])
        yield from tokens

    def _input(self, prompt: Prompt, chat: bool) -> torch.Tensor:
        """Returns the argument of `tokens` for a prompt."""
        if self.tokenizer is None:
            raise without_tokenizer()
        if isinstance(prompt, torch.Tensor):
            return prompt
        if isinstance(prompt, str) and chat:
            prompt = [{"role": "user", "content": prompt}]
        return encode(self.tokenizer, prompt)

    def _prompt_tokens(self, input_ids: torch.Tensor) -> int:
        return input_ids.shape[1] if input_ids.dtype == torch.int64 else len(self.start)

    def _check(self, input_ids: torch.Tensor, max_new_tokens: int) -> None:
        count = self._prompt_tokens(input_ids)
        check_length(count, max_new_tokens, self.max_length, len(self.start))

    def _together(
        self, inputs: Sequence[torch.Tensor], max_new_tokens: int, options: Sequence[Sampling]
    ) -> list[Iterator[int]]:
        """Returns an iterator over the tokens of each text, for at most `batch` inputs."""
        counts = [TextCounts(self._prompt_tokens(each)) for each in inputs]
        self.statistics.texts += counts
        choosers = [
            self._chooser(each, max_new_tokens, sampling)
            for each, sampling in zip(inputs, options, strict=True)
        ]
        steps = self._steps(inputs, max_new_tokens, choosers)
        return tokens_of_each(steps, counts, self.end)

    def _steps(
        self, inputs: Sequence[torch.Tensor], max_new_tokens: int, choosers: Sequence[Chooser]
    ) -> Iterator[list[int]]:
        """Yields the next token of every text. A text that has ended repeats its last token."""
        statistics = self.statistics
        step: list[int] = []
        for index in range(max_new_tokens):
            if statistics is not self.statistics:
                raise Error(
                    "usage",
                    "another text was begun before this one ended",
                    hint="read each text to its end first, or call texts",
                )
            with statistics.measuring(is_first=index == 0):
                if index == 0:
                    read = self._read_encoder_prompts if self.start else self._read_prompts
                    ids, logits = read(inputs)
                else:
                    logits = self.run.decode(self._column(step))
                last = step or [None] * len(inputs)
                step = [
                    token if token in self.end else int(choose(ids[row], logits[row : row + 1]))
                    for row, (token, choose) in enumerate(zip(last, choosers, strict=True))
                ]
                ids = _with_step(ids, step)
            yield step

    def _column(self, step: list[int]) -> torch.Tensor:
        """Returns the ids of `decode`, (batch, 1). Rows without a text repeat the first one."""
        return torch.tensor(step + step[:1] * (self.batch - len(step)))[:, None]

    def _chooser(self, input_ids: torch.Tensor, max_new_tokens: int, sampling: Sampling) -> Chooser:
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

    def _read_prompts(
        self, inputs: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Reads the prompts of a decoder. Returns the ids of each text so far, and logits."""
        rows, padding = left_padded([each[0].tolist() for each in inputs], self.batch)
        state = self.run.state
        for name in state:
            # Keys and values need no reset: positions after the length are never read.
            if name.startswith(_EMPTIED):
                state[name] = torch.zeros_like(state[name])
        if "cache_padding" in state:
            state["cache_padding"] = torch.tensor(padding)
        size = chunk_size(self.run.signatures, state, self.prompt_chunk, len(rows[0]))
        position = 0
        for chunk in torch.tensor(rows).split(size, dim=1):
            if position:
                self._empty_states([row for row, count in enumerate(padding) if count == position])
            read = self.run.prefill if chunk.shape[1] > 1 else self.run.decode
            logits = read(chunk)
            position += chunk.shape[1]
        return list(inputs), logits

    def _empty_states(self, rows: list[int]) -> None:
        """Sets the states of state-space layers to zero in rows whose text begins now."""
        for name in self.run.state if rows else ():
            if name.startswith(STATES):
                state = self.run.state[name].clone()
                state[rows] = 0
                self.run.state[name] = state

    def _read_encoder_prompts(
        self, inputs: Sequence[torch.Tensor]
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """Reads the prompts of an encoder-decoder.

        Returns:
            The decoder's ids of each text so far, and logits.
        """
        if inputs[0].dtype == torch.int64:
            rows = right_padded([each[0].tolist() for each in inputs], self.batch)
            self.run.encode(*map(torch.tensor, rows))
        else:
            missing = [inputs[0]] * (self.batch - len(inputs))
            self.run.encode(torch.cat([*inputs, *missing]))
        ids = [torch.empty((1, 0), dtype=torch.int64) for _ in inputs]
        logits = torch.empty(len(inputs), 0)
        for choice in self.start:
            step = [
                choice if isinstance(choice, int) else max(choice, key=row.__getitem__)
                for row in logits[: len(inputs)]
            ]
            ids = _with_step(ids, step)
            logits = self.run.decode(self._column(step))
        return ids, logits


def _with_step(ids: Sequence[torch.Tensor], step: Sequence[int]) -> list[torch.Tensor]:
    """Returns the ids of each text, (1, tokens), with one more token."""
    pairs = zip(ids, step, strict=True)
    return [torch.cat([row, torch.tensor([[token]])], dim=1) for row, token in pairs]


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
    batch: int = 1,
    prompt_chunk: int = PROMPT_CHUNK,
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
        batch: number of texts that `Generator.texts` generates together.
        prompt_chunk: the largest number of tokens of a prompt that a decoder reads at once.
            Fewer need less memory. The text is the same.

    Raises:
        Error: the stage that failed; stage `usage`, if the model does not generate texts of
            different lengths together.
    """
    check_runner(on)
    if prompt_chunk < 1:
        raise Error("usage", f"prompt_chunk is {prompt_chunk}", hint="at least 1")
    source = as_source(model, trust)
    programs = capture_decoder(source, max_length, dtype, batch)
    return Generator(
        run=load(programs, on, target, unchecked=unchecked),
        tokenizer=source.tokenizer,
        max_length=max_length,
        batch=batch,
        prompt_chunk=prompt_chunk,
        notes=programs.notes,
        **settings_of(source),
    )


def capture_decoder(
    source: Source, max_length: int | None, dtype: torch.dtype | None = None, batch: int = 1
) -> Programs:
    """Captures a model with its cache as state. Converts the model itself if `dtype` is given.

    Packed weights are then unpacked once, except to f32: the runners' fast products are in f32.

    Raises:
        Error: stage `usage`, `source` or `capture`.
    """
    if dtype is not None:
        source.model.to(dtype)
    if batch > 1:
        # Imported here, because it imports transformers.
        from importers.sources.huggingface.padding_check import check_padding

        check_padding(source.model)
    programs = capture_generation(source, batch=batch, max_length=max_length, cache="state")
    programs.source_notes += notes_of(source)
    if dtype in (None, torch.float32):
        return programs
    # Imported here to save start-up time: it imports parts of Inductor.
    from importers.folding import unpack_weights

    return unpack_weights(programs)
