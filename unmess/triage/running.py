"""Runs a reproducer in a process of its own, with limits.

This module does not import PyTorch.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unmess.core.processes.children import limit_memory
from unmess.core.processes.workers import Parent

# Seconds that a fresh interpreter needs to import PyTorch and a compiler.
_IMPORT_SECONDS = 20.0


@dataclass(frozen=True)
class Run:
    """A run of a file.

    Attributes:
        status: as `os.waitstatus_to_exitcode` gives it; None if it took too long.
        output: the standard output and standard error of the process.
    """

    status: int | None
    output: str


# Runs a file with a limit of seconds, and one of memory in 10**6 bytes.
RunFile = Callable[[Path, float, float | None], Run]


def in_interpreter(file: Path, seconds: float, memory_mb: float | None) -> Run:
    """Runs a file as `python FILE` does, in its folder."""
    limit = None if memory_mb is None else (lambda: limit_memory(memory_mb))
    command = [sys.executable, file.name]
    try:
        done = subprocess.run(
            command,
            cwd=file.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds + _IMPORT_SECONDS,
            preexec_fn=limit,
            check=False,
        )
    except subprocess.TimeoutExpired as problem:
        return Run(None, (problem.output or b"").decode(errors="replace"))
    return Run(done.returncode, done.stdout.decode(errors="replace"))


def in_workers(parent: Parent) -> RunFile:
    """Returns a function that runs files in workers, which have imported the libraries."""

    def run(file: Path, seconds: float, memory_mb: float | None) -> Run:
        lines: list[str] = []
        with parent.start(_run, str(file), memory_mb, folder=file.parent) as worker:
            worker.allow(seconds)
            for _ in worker.messages(lines.append):
                pass
        timed_out = "timed out" in (worker.death or "")
        return Run(None if timed_out else worker.status, "\n".join(lines))

    return run


def _run(_send: Callable[[Any], None], file: str, memory_mb: float | None) -> None:
    limit_memory(memory_mb)
    runpy.run_path(file, run_name="__main__")
