"""Starts child processes, makes them end with this one, and describes how they ended.

Also limits the memory of this process, which a child does when it starts.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import sys

STACK_HINT = "run again with --debug to see Python's stack at the crash"


def command(module: str, *arguments: str) -> list[str]:
    """Returns the command line that runs a module as a process."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Returns this process's environment, with its module search path."""
    # `python -m` would put the current folder in front, which may hold a `queue.py`.
    path = os.pathsep.join(folder or os.getcwd() for folder in sys.path)
    return {**os.environ, "PYTHONPATH": path}


def fork() -> int:
    """Forks this process as `os.fork` does. The child ends with this process.

    Flushes buffered output first, so that the child does not write it again. This process must
    have only one thread: the child has no other threads, but inherits the locks that they hold.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    pid = os.fork()
    if not pid:
        end_with_parent()
        if os.getppid() != parent:
            # The parent ended before `end_with_parent` took effect.
            os._exit(1)
    return pid


def end_with_parent() -> None:
    """Makes the system kill this child process when the thread that started it ends."""
    set_parent_death_signal = 1
    ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL, 0, 0, 0)


def ending(status: int) -> str:
    """Describes the end of a process that did not finish: `SIGSEGV`, or `status 3`.

    Args:
        status: as `os.waitstatus_to_exitcode` and `subprocess` give it.
    """
    if status >= 0:
        return f"status {status}"
    # Python has no names for most real-time signals.
    known = -status in set(signal.Signals)
    return signal.Signals(-status).name if known else f"signal {-status}"


def cause_of_death(status: int, peak_rss_mb: float | None = None) -> tuple[str, str]:
    """Returns the cause and a hint for a process that ended before it finished its work.

    Args:
        status: as for `ending`.
        peak_rss_mb: the most memory that it used, in 10**6 bytes; None if unknown.
    """
    if status == -signal.SIGKILL:
        used = f": the process had used up to {peak_rss_mb:,.0f} MB" if peak_rss_mb else ""
        return (
            "crashed with SIGKILL",
            f"the system may have run out of memory{used}: close other programs and try again",
        )
    if status < 0:
        return f"crashed with {ending(status)}", STACK_HINT
    return (
        f"the process ended with status {status}",
        "look for calls in the model's code that end the process",
    )


def limit_memory(megabytes: float | None) -> None:
    """Makes allocations fail beyond the memory that this process has now plus a limit.

    Child processes inherit the limit.

    Args:
        megabytes: in 10**6 bytes; None: no limit.
    """
    if megabytes is None:
        return
    with open("/proc/self/status") as file:
        kilobytes = next(line.split()[1] for line in file if line.startswith("VmData:"))
    limit = int(kilobytes) * 1024 + int(megabytes * 1e6)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
