"""Processes that this one starts: with its modules, no longer than it, and how they ended."""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module as a process."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This process's environment, with its module search path."""
    # What `python -m` would put in front instead, the current folder, may hold a `queue.py`.
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return {**os.environ, "PYTHONPATH": path}


def end_with_parent() -> None:
    """Called by the child: the system kills it when the thread that started it ends."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def ending(status: int) -> str:
    """How a process ended that did not finish: `SIGSEGV`, or `status 3`.

    Args:
        status: as `os.waitstatus_to_exitcode` has it, and `subprocess`.
    """
    return signal.Signals(-status).name if status < 0 else f"status {status}"
