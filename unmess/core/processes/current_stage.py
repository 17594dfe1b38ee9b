"""The current stage of the library, for progress output and crash reports."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token

from unmess.core.processes import crash_log

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="usage")


def enter_stage(stage: str) -> None:
    """Records that work on `stage` begins, and calls the listener if there is one.

    A stage lasts until the next one begins, so there is always a current stage.
    """
    crash_log.begin_stage(stage)
    _stage.set(stage)
    listener = _listener.get()
    if listener is not None:
        listener(stage)


@contextlib.contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Calls `listener` with each stage that begins inside the block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def begin(stage: str) -> Token[str]:
    """Sets the current stage without calling the listener. Pass the returned token to `end`."""
    return _stage.set(stage)


def end(token: Token[str]) -> None:
    """Restores the stage from before `begin`."""
    _stage.reset(token)


def current_stage() -> str:
    """Returns the current stage."""
    return _stage.get()
