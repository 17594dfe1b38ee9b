"""Which stage the library is in, for whoever shows it or has to name it after a crash."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar, Token

from unmess.core import trail

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="usage")


def enter_stage(stage: str) -> None:
    """Tells the listener, if there is one, that work on `stage` begins.

    A stage lasts until the next one begins, so that there is no moment without a name.
    """
    trail.enter(stage)
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
    """Work begins at `stage`, for `current_stage` alone. `end` takes what is returned."""
    return _stage.set(stage)


def end(token: Token[str]) -> None:
    """The stage is again the one from before `begin`."""
    _stage.reset(token)


def current_stage() -> str:
    """The stage that this library is at."""
    return _stage.get()
