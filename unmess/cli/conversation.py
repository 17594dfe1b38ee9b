"""A conversation in the terminal: the turns of the user, and the messages so far."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from unmess.text import Message


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
