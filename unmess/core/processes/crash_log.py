"""A crash log: the progress of this process, which its parent can read after a native crash.

Only a process that `unmess.cli.supervision` started has a log. Other processes record nothing.
"""

from __future__ import annotations

import json
import mmap
import os
from typing import Any

_SIZE = 1 << 16


class CrashLog:
    """A log in memory that a process shares with its forks.

    Args:
        tracing: the stage in which an earlier process crashed. This process runs it step by step,
            and writes a reproducer before each step. None: no such stage.
    """

    def __init__(self, tracing: str | None = None):
        self._page = mmap.mmap(-1, _SIZE)
        self._facts: dict[str, Any] = {}
        self.tracing = tracing

    def record(self, **facts: Any) -> None:
        """Records `facts` (JSON values), in addition to earlier ones."""
        self._facts |= facts
        text = json.dumps(self._facts).encode()
        # Skip text that does not fit, because a part of it could not be parsed. Usually it fits:
        # paths and names of stages are short.
        if len(text) < _SIZE:
            self._page[: len(text) + 1] = text + b"\0"

    def read(self) -> dict[str, Any]:
        """Returns the facts that were recorded last, by any process that shares the log."""
        text = self._page[:].partition(b"\0")[0]
        try:
            return json.loads(text) if text else {}
        except ValueError:
            # The process ended while it wrote.
            return {}


_current: CrashLog | None = None


def record_in(log: CrashLog) -> None:
    """Makes this process record its progress in `log`."""
    global _current
    _current = log


def record(**facts: Any) -> None:
    """Records facts as `CrashLog.record` does. Does nothing without a log."""
    if _current is not None:
        _current.record(**facts)


def last_recorded(name: str) -> Any:
    """Returns the last recorded fact of that name, or None."""
    return None if _current is None else _current.read().get(name)


def begin_stage(stage: str) -> None:
    """Records the current stage, so that a crash can be attributed to it.

    A process that traces a stage exits when the next stage begins.
    """
    if _current is None:
        return
    if _current.tracing is not None and _current.tracing == last_recorded("stage") != stage:
        os._exit(0)
    _current.record(stage=stage)


def is_tracing() -> bool:
    """Returns whether to write a reproducer before each step."""
    return _current is not None and _current.tracing is not None
