"""What this process is at, kept where its parent can read it after a crash in native code.

Only a process that `unmess.cli.supervision` has started has a trail; elsewhere nothing is kept.
"""

from __future__ import annotations

import json
import mmap
import os
from typing import Any

_SIZE = 1 << 16


class Trail:
    """Memory that a process shares with those that it forks.

    Args:
        tracing: the stage in which a process before this one crashed, and which this one goes
            through step by step, with a reproducer written before each; None: no such stage.
    """

    def __init__(self, tracing: str | None = None):
        self._page = mmap.mmap(-1, _SIZE)
        self._facts: dict[str, Any] = {}
        self.tracing = tracing

    def leave(self, **facts: Any) -> None:
        """Keeps `facts` (values that JSON has), beside those that were left before."""
        self._facts |= facts
        text = json.dumps(self._facts).encode()
        # What is cut off could not be read; a path or the name of a stage is short.
        if len(text) < _SIZE:
            self._page[: len(text) + 1] = text + b"\0"

    def read(self) -> dict[str, Any]:
        """What the process that it is shared with left last."""
        text = self._page[:].partition(b"\0")[0]
        try:
            return json.loads(text) if text else {}
        except ValueError:
            # The process ended while it wrote.
            return {}


_current: Trail | None = None


def follow(trail: Trail) -> None:
    """Has this process leave what it is at in `trail`."""
    global _current
    _current = trail


def leave(**facts: Any) -> None:
    """See `Trail.leave`; does nothing where nobody reads."""
    if _current is not None:
        _current.leave(**facts)


def left(name: str) -> Any:
    """The fact of that name that this process left last, or None."""
    return None if _current is None else _current.read().get(name)


def enter(stage: str) -> None:
    """Leaves the stage that begins. A process that traces one ends when it is through with it."""
    if _current is None:
        return
    if _current.tracing is not None and _current.tracing == left("stage") != stage:
        os._exit(0)
    _current.leave(stage=stage)


def is_tracing() -> bool:
    """Whether a reproducer is wanted before each step."""
    return _current is not None and _current.tracing is not None
