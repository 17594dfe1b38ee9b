"""The prompts of `unmess generate`: texts, lines of a file, and turns of a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from unmess.core.errors.error import Error
from unmess.text import Message


def read_prompts(given: Sequence[str], file: str | None) -> list[str]:
    """Returns the prompts of `--prompt` (`-` reads one from stdin), then the lines of a file.

    Raises:
        Error: stage `usage`, if there is no prompt, or one of them is empty.
    """
    prompts = [sys.stdin.read() if text == "-" else text for text in given]
    if "" in prompts:
        raise Error(
            "usage", "the prompt is empty", hint='pass a text, such as --prompt "Once upon a time"'
        )
    if file is not None:
        lines = _content(file).splitlines()
        prompts += [line for line in lines if line.strip()]
        if not prompts:
            raise Error("usage", f"{file} has no prompt", hint="write one prompt a line")
    if not prompts:
        raise Error(
            "usage", "there is no prompt", hint="pass --prompt TEXT, or --chat for a conversation"
        )
    return prompts


def _content(file: str) -> str:
    if file == "-":
        return sys.stdin.read()
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise Error(
            "usage", f"cannot read {file}: {reason}", hint="pass a text file in UTF-8"
        ) from None


class Conversation:
    """The messages of a conversation, in order."""

    def __init__(self, system: str | None = None):
        self._messages: list[Message] = []
        if system is not None:
            self._add("system", system)

    def ask(self, text: str) -> tuple[Message, ...]:
        """Adds a turn of the user. Returns all messages."""
        self._add("user", text)
        return tuple(self._messages)

    def answer(self, text: str) -> None:
        """Adds the model's answer."""
        self._add("assistant", text)

    def _add(self, role: str, text: str) -> None:
        self._messages.append({"role": role, "content": text})


def read_lines() -> Iterator[str]:
    """Yields the lines of stdin, except empty ones. Prompts for each of them in a terminal."""
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            return
        if text := line.strip():
            yield text
