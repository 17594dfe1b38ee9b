"""Prompts to tokens and tokens to text, without PyTorch and transformers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from unmess.core.error import Error


class Decoder(Protocol):
    """A tokenizer, as far as text is made of its tokens."""

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """The text of tokens."""


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

    def add(self, seconds: float) -> None:
        """Counts a token that took so many seconds."""
        if self.new_tokens:
            self.decode_seconds += seconds
        else:
            self.prefill_seconds = seconds
        self.new_tokens += 1


def pieces(tokenizer: Decoder, tokens: Iterable[int]) -> Iterator[str]:
    """The text of tokens, in pieces, each as soon as it is certain."""
    chosen: list[int] = []
    shown = ""
    for token in tokens:
        chosen.append(token)
        text = tokenizer.decode(chosen, skip_special_tokens=True)
        # A character of several tokens is a replacement character until the last one.
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            if piece := text[len(shown) :]:
                yield piece
            shown = text
    if rest := tokenizer.decode(chosen, skip_special_tokens=True)[len(shown) :]:
        yield rest


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


def without_tokenizer() -> Error:
    """The Error for a model that has no tokenizer."""
    return Error(
        "usage",
        "the model has no tokenizer",
        hint="a folder with its tokenizer's files, or a GGUF file, has one",
    )


class KeptTokenizer:
    """A tokenizer of Hugging Face's `tokenizers`, read from its file.

    It takes a fraction of the time that transformers takes to be imported.
    """

    def __init__(self, content: bytes):
        """Reads the content of a `tokenizer.json`."""
        import tokenizers

        self._tokenizer = tokenizers.Tokenizer.from_buffer(content)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def encode(self, prompt: str) -> list[int]:
        """The ids of a prompt, with the special tokens that the model expects."""
        return self._tokenizer.encode(prompt).ids

    def decode(self, ids: list[int], skip_special_tokens: bool) -> str:
        """The text of tokens."""
        return self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)


# Sentences with what tokenizers treat in ways of their own.
_SAMPLES = (
    "Hello , world ! It's 3.14 — don't.",
    "  def f(x):\n\treturn x ** 2\n",
    "Ünïcödé ✓ 東京",
)


def kept_form(tokenizer: Any, prompt: str) -> bytes | None:
    """The content of `KeptTokenizer` that does the same as a tokenizer of transformers.

    Returns:
        None where there is none: the tokenizer is written in Python, or changes the text after
        the library.
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
