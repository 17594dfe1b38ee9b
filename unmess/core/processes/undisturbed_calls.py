"""Keeps the calling thread from delaying the threads that run a program of IREE.

IREE has one thread for each core, which stays on that core. The last one that finishes wakes the
caller, and the caller then spins until that thread has returned from the function that woke it.
Linux may give the caller the core of that thread, which then continues when the caller's time slice
ends, 3 to 4 ms later. A thread with the scheduling policy SCHED_BATCH does not take the core of the
thread that wakes it.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from types import TracebackType

# Seconds. Two changes of the policy take 3 µs, too long for a shorter call.
_LONG_CALL = 20e-6


class UndisturbedCalls:
    """A context for each call of one function of a program.

    If the last call took long, the thread has the policy SCHED_BATCH during this one.
    `before_call` is called before each call, with the seconds that the last one took, or infinity.
    """

    def __init__(self, before_call: Callable[[float], None] = lambda _seconds: None):
        self._before_call = before_call
        self._seconds = math.inf
        self._is_batch = False

    def __enter__(self) -> None:
        self._before_call(self._seconds)
        self._is_batch = self._seconds > _LONG_CALL and _change_policy(to_batch=True)
        self._start = time.perf_counter()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._seconds = time.perf_counter() - self._start
        if self._is_batch:
            _change_policy(to_batch=False)


def _change_policy(*, to_batch: bool) -> bool:
    """Changes the policy of this thread from Linux's default to SCHED_BATCH, or back.

    Returns whether it was changed. A policy that the user has chosen stays.
    """
    if not hasattr(os, "SCHED_BATCH"):
        return False
    before, after = (
        (os.SCHED_OTHER, os.SCHED_BATCH) if to_batch else (os.SCHED_BATCH, os.SCHED_OTHER)
    )
    try:
        if os.sched_getscheduler(0) != before:
            return False
        os.sched_setscheduler(0, after, os.sched_param(0))
    except OSError:  # a sandbox may forbid it
        return False
    return True
