"""Does several pieces of work at the same time, in threads that wait for other processes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def wait_passively(jobs: int) -> None:
    """Makes the threads of processes that start later sleep while they wait for each other.

    By default, OpenMP's threads spin. If several processes share the processors, they then spin on
    a processor that another process needs. Does nothing for one job, or if the user has chosen.
    OpenMP reads the variable when it is loaded, so call this before a `Parent` is started.

    Args:
        jobs: number of processes that compute at the same time.
    """
    if jobs > 1:
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def in_threads(
    items: Iterable[_Item], work: Callable[[_Item], Iterable[_Result]], jobs: int
) -> Iterator[_Result]:
    """Yields each result of `work` as soon as it is available, in no particular order.

    If the caller stops early, threads finish their current item, but begin no other one.

    Args:
        work: returns the results of an item. Called in other threads. If it raises, so does this
            function.
        jobs: number of items to work on at the same time.
    """
    waiting: queue.SimpleQueue[_Item] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    # Each entry is a result, an exception that ended a thread, or None from one that finished.
    done: queue.SimpleQueue[_Result | BaseException | None] = queue.SimpleQueue()
    stopped = threading.Event()

    def run() -> None:
        try:
            while not stopped.is_set():
                for result in work(waiting.get_nowait()):
                    done.put(result)
        except queue.Empty:
            done.put(None)
        except BaseException as problem:
            done.put(problem)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    left = len(threads)
    try:
        while left:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            if result is None:
                left -= 1
            else:
                yield result
    finally:
        stopped.set()


def processors() -> int:
    """Returns the number of processors that this process may use, which SLURM limits."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
