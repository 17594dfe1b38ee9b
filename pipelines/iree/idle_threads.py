"""Ends PyTorch's idle threads, which take processors from IREE's threads.

After an operator of eager PyTorch, the threads of GCC's OpenMP spin for some milliseconds, to begin
the next operator sooner.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable

import torch

# OpenMP's `omp_pause_soft`: the threads end, and the settings remain.
_SOFT = 1
# Seconds for each thread: it is worth ending and starting the threads for a call that takes longer.
_LONG_CALL_PER_THREAD = 25e-6


def end_idle_threads(seconds: float) -> None:
    """Ends the OpenMP threads that have worked for the calling thread, before a long call.

    PyTorch's next operator starts them again. Does nothing without GCC's OpenMP, and inside one of
    its parallel regions.

    Args:
        seconds: the expected time of the call.
    """
    if seconds > _LONG_CALL_PER_THREAD * torch.get_num_threads() and (pause := _pause()):
        pause(_SOFT)


@functools.cache
def _pause() -> Callable[[int], int] | None:
    try:
        # PyTorch has loaded it.
        return ctypes.CDLL("libgomp.so.1").omp_pause_resource_all
    except (OSError, AttributeError):
        return None
