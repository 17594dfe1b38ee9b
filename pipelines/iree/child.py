"""How processes of this package are started: with this process's modules, and no longer than it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys


def command(module: str, *arguments: str) -> list[str]:
    """The command line that runs a module of this package as a process."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """This process's environment, with its module search path."""
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return {**os.environ, "PYTHONPATH": path}


def end_with_parent() -> None:
    """Called by the child: the system kills it when the thread that started it ends."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)
