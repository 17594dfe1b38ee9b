"""Work on many items in forked processes, so that a crash or a hang costs one item."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any

from unmess.core.processes import ending


@dataclass(frozen=True)
class Died:
    """Instead of a result: the process that worked on the item crashed or took too long."""

    cause: str


def each_in_children(
    items: Sequence[Any], work: Callable[[Any], Any], timeout: float
) -> Iterator[Any]:
    """Yields `work(item)` for each item, in order, from as few child processes as there can be.

    A child is a fork of this process, with all that it has imported. It works through the items;
    when it dies, the item it was at gets a `Died`, and another child goes on with the next one.

    Args:
        work: its results must be picklable. An exception in it counts as a crash.
        timeout: seconds for one item.
    """
    done = 0
    while done < len(items):
        for result in _from_child(items[done:], work, timeout):
            done += 1
            yield result


def _from_child(items: Sequence[Any], work: Callable[[Any], Any], timeout: float) -> Iterator[Any]:
    """Results until the child has worked through `items`, or died; a `Died` is the last one."""
    results, theirs = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        results.close()
        _work_through(items, work, theirs)
    theirs.close()
    try:
        for _ in items:
            if not results.poll(timeout):
                yield Died(f"took longer than {timeout:g} s")
                return
            try:
                result = results.recv()
            except EOFError:
                yield Died(_cause_of_death(pid))
                return
            yield result
    finally:
        results.close()
        # Until it is reaped, the number is its own.
        with contextlib.suppress(ChildProcessError, ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _work_through(items: Sequence[Any], work: Callable[[Any], Any], results: Connection) -> None:
    """The child's whole life."""
    status = 1
    try:
        import torch

        # The threads of a parallel region do not survive a fork.
        torch.set_num_threads(1)
        for item in items:
            results.send(work(item))
        status = 0
    except BaseException as problem:
        print(f"{type(problem).__name__}: {problem}", file=sys.stderr)
    finally:
        os._exit(status)


def _cause_of_death(pid: int) -> str:
    # It has closed the pipe, so that it is about to end.
    until = time.monotonic() + 5
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return f"crashed with {ending(code)}" if code < 0 else "failed"
        time.sleep(0.01)
    return "failed"
