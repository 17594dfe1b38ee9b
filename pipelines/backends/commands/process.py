"""Runs commands with limits, and describes how they ended."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unmess.core.processes.children import end_with_parent, ending

# Characters of stderr and stdout that an error may show.
_SHOWN = 300
# Bytes of a file that are read at its start, and at its end.
_START, _END = 1 << 20, 1 << 16
_MEGABYTE = 10**6
_CRASHES = (
    *(signal.SIGILL, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGKILL),
    signal.SIGSEGV,
)
_REPORTS = re.compile(r"\berror:|Assertion .* failed", re.IGNORECASE)


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Attributes:
        command: its words.
        status: its exit code, or the negated number of the signal that ended it. If a shell reports
            that a signal ended its command, that signal counts. None if the command did not end in
            time or did not start.
        problem: why it did not succeed, one line; None if it did.
        stdout, stderr: the files with its output.
        seconds: how long it ran.
        timed_out: whether it did not end in time.
    """

    command: tuple[str, ...]
    status: int | None
    problem: str | None
    stdout: Path
    stderr: Path
    seconds: float
    timed_out: bool = False


def run_command(
    command: Sequence[str],
    folder: Path,
    *,
    timeout: float,
    environment: Mapping[str, str],
    memory_mb: float | None = None,
    file_mb: float | None = None,
    exit_codes: Mapping[str, str] | None = None,
) -> Ended:
    """Runs a command in a session of its own, and ends it and all its children.

    The command also ends when the thread that called this function ends, as when a worker process
    is killed.

    Args:
        folder: its working directory. Its stdout and stderr are written there.
        timeout: seconds.
        environment: all its variables.
        memory_mb: its address space in 10**6 bytes.
        file_mb: the size of each file that it writes, its output included, in 10**6 bytes.
        exit_codes: the meaning of exit codes.
    """
    stdout, stderr = folder / "stdout.txt", folder / "stderr.txt"
    start = time.monotonic()
    with stdout.open("wb") as out, stderr.open("wb") as err:
        try:
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        # A ValueError: a null character in a word, or a wrong name of a variable.
        except (OSError, ValueError, subprocess.SubprocessError) as problem:
            reason = getattr(problem, "strerror", None) or problem
            cause = f"{command[0]} does not start: {reason}"
            return Ended(tuple(command), None, cause, stdout, stderr, 0.0)
        try:
            _limit(process, resource.RLIMIT_AS, memory_mb)
            _limit(process, resource.RLIMIT_FSIZE, file_mb)
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
    seconds = time.monotonic() - start
    program = Path(command[0]).name
    meanings = exit_codes or {}
    # A shell reports the signal that ended its command as an exit code.
    if status is not None and status - 128 in _CRASHES and str(status) not in meanings:
        status = 128 - status
    if status is None:
        problem = f"{program} timed out after {timeout:g} s"
    elif status < 0:
        problem = f"{program} crashed with {ending(status)}{_said(stderr)}"
    elif status:
        meaning = meanings.get(str(status), f"exit code {status}")
        problem = f"{program} failed: {meaning}{_said(stderr) or _said(stdout)}"
    else:
        problem = None
    return Ended(tuple(command), status, problem, stdout, stderr, seconds, status is None)


def _limit(process: subprocess.Popen, kind: int, megabytes: float | None) -> None:
    """Sets a limit of a process's resources, in 10**6 bytes; None: leaves it as it is."""
    if megabytes is None:
        return
    limit = min(int(megabytes * _MEGABYTE), sys.maxsize)
    # It may have ended already, or have a lower limit that cannot be raised.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        resource.prlimit(process.pid, kind, (limit, limit))


def _end(process: subprocess.Popen) -> None:
    """Kills the remaining processes of a command's process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _said(file: Path) -> str:
    """Returns the first line that reports an error, or else the last line, after a colon and space.

    An assertion that fails counts as an error.
    """
    lines = [line.strip() for line in shown_text(file).splitlines() if line.strip()]
    if not lines:
        return ""
    line = next((line for line in lines if _REPORTS.search(line)), lines[-1])
    # The place in a temporary file means nothing to the reader.
    if "error: " in line:
        line = line[line.index("error: ") + len("error: ") :]
    return f": {line[:_SHOWN]}"


def shown_text(file: Path) -> str:
    """Returns the text of a file; of a large one, only the start and the end."""
    with file.open("rb") as content:
        text = content.read(_START)
        left = file.stat().st_size - len(text)
        if left > _END:
            text += f"\n({left - _END} bytes are left out)\n".encode()
            content.seek(-_END, os.SEEK_END)
        text += content.read(_END)
    return text.decode(errors="replace")
