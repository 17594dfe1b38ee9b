"""Converts prompts to tokens and tokens to text, without PyTorch and transformers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from unmess.core.errors.error import Error

# A message of a conversation, with its `role` and `content`.
Message = dict[str, str]


class Decoder(Protocol):
    """The part of a tokenizer that converts tokens to text."""

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """The text of tokens."""


@dataclass
class TextCounts:
    """Token counts of one text."""

    prompt_tokens: int
    new_tokens: int = 0


@dataclass
class Statistics:
    """Token counts and times of the last text, or of texts that were generated together.

    Attributes:
        texts: the counts of each text.
        prefill_seconds: the time until the first token of each text.
        decode_seconds: the time of the other tokens.
    """

    texts: list[TextCounts] = field(default_factory=list)
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0

    @property
    def prompt_tokens(self) -> int:
        """The number of tokens of all prompts."""
        return sum(text.prompt_tokens for text in self.texts)

    @property
    def new_tokens(self) -> int:
        """The number of new tokens of all texts."""
        return sum(text.new_tokens for text in self.texts)

    @property
    def tokens_per_second(self) -> float | None:
        """The speed of the tokens after the first of each text; None if there were none."""
        count = sum(max(text.new_tokens - 1, 0) for text in self.texts)
        return count / self.decode_seconds if count and self.decode_seconds else None

    @contextlib.contextmanager
    def measuring(self, is_first: bool) -> Iterator[None]:
        """Adds the duration of the `with` block, which computes one step."""
        start = time.perf_counter()
        yield
        seconds = time.perf_counter() - start
        if is_first:
            self.prefill_seconds += seconds
        else:
            self.decode_seconds += seconds


def pieces(tokenizer: Decoder, tokens: Iterable[int]) -> Iterator[str]:
    """Yields the text of tokens in pieces, each as soon as its characters are complete."""
    chosen: list[int] = []
    shown = ""
    for token in tokens:
        chosen.append(token)
        text = tokenizer.decode(chosen, skip_special_tokens=True)
        # A character of several tokens is decoded as a replacement character until its last token.
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            if piece := text[len(shown) :]:
                yield piece
            shown = text
    if rest := tokenizer.decode(chosen, skip_special_tokens=True)[len(shown) :]:
        yield rest


def until(pieces: Iterable[str], stop: Sequence[str]) -> Iterator[str]:
    """Yields pieces of a text up to the first of the stop strings, which is left out.

    A piece that may be the beginning of a stop string is held back until the next one.
    """
    held = ""
    for piece in pieces:
        held += piece
        if found := [place for text in stop if (place := held.find(text)) >= 0]:
            if end := min(found):
                yield held[:end]
            return
        kept = max((_overlap(held, text) for text in stop), default=0)
        if ready := held[: len(held) - kept]:
            yield ready
        held = held[len(held) - kept :]
    if held:
        yield held


def _overlap(text: str, stop: str) -> int:
    """Returns the length of the longest end of `text` that `stop` begins with."""
    longest = min(len(text), len(stop))
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)


def check_length(
    prompt_tokens: int, max_new_tokens: int, max_length: int, start_tokens: int = 0
) -> None:
    """Raises an Error (`usage`) if the prompt is empty or the cache cannot hold the text.

    Args:
        start_tokens: the number of tokens that the decoder of an encoder-decoder starts with; 0
            for a decoder. An encoder-decoder has a cache for the prompt, and another one for the
            start tokens and the new tokens.
    """
    if prompt_tokens == 0:
        raise Error("usage", "the prompt is empty", hint="pass at least one token")
    hint = "pass a larger max_length for a larger cache"
    if start_tokens and prompt_tokens > max_length:
        raise Error(
            "usage",
            f"the prompt's {prompt_tokens} tokens exceed the {max_length} positions of the cache",
            hint=hint,
        )
    before = start_tokens or prompt_tokens
    if before + max_new_tokens > max_length:
        raise Error(
            "usage",
            f"{before} tokens and {max_new_tokens} new ones exceed the "
            f"{max_length} positions of the cache",
            hint=hint,
        )


def without_tokenizer() -> Error:
    """Returns the Error for a model that has no tokenizer."""
    return Error(
        "usage",
        "the model has no tokenizer",
        hint="pass a folder that has the tokenizer's files, or a GGUF file",
    )


class KeptTokenizer:
    """A tokenizer of Hugging Face's `tokenizers`, read from its file.

    Importing that library takes a fraction of the time that transformers takes.
    """

    def __init__(self, content: bytes):
        """Reads the content of a `tokenizer.json`."""
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_buffer(content)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, prompt: str) -> list[int]:
        """Returns the ids of a prompt, with the special tokens that the model expects."""
        return self._tokenizer.encode(prompt).ids

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """The text of tokens."""
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)


# Text that tokenizers treat differently: punctuation, whitespace, characters outside ASCII.
_SAMPLES = (
    "Hello , world ! It's 3.14 — don't.",
    "  def f(x):\n\treturn x ** 2\n",
    "Ünïcödé ✓ 東京",
)


def kept_form(tokenizer: Any, prompt: str) -> bytes | None:
    """Returns the content of a `KeptTokenizer` that is equivalent to a transformers tokenizer.

    Compares the two on the prompt and on samples.

    Returns:
        The content; None if there is none: the tokenizer is written in Python, or changes what the
        library returns.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    content = backend.to_str().encode()
    kept = KeptTokenizer(content)
    for text in (prompt, *_SAMPLES):
        ids = list(tokenizer(text).input_ids)
        if kept.encode(text) != ids:
            return None
        if kept.decode(ids, True) != tokenizer.decode(ids, skip_special_tokens=True):
            return None
    return content
