"""Waits for conditions, such as the end of a process."""

from __future__ import annotations

import time
from collections.abc import Callable


def is_gone(pid: int) -> bool:
    """Returns whether a process has ended. It is a zombie until its parent waits for it."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def wait_until(condition: Callable[[], bool], seconds: float = 120) -> None:
    """Waits until a condition holds; fails after that many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)
