"""Measures the memory that a call needs beyond the memory in use before it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

import torch

from pipelines.reference.execution.workspaces import Workspaces

_LIBC = ctypes.CDLL(None)


def peak_memory(call: Callable[[], object]) -> int:
    """Returns the bytes by which resident memory rises during a second call, in a forked process.

    The first call allocates the memory that later calls reuse. Memory that it frees is returned
    to the system, and so is the memory that the reference runner keeps for temporaries.

    Raises:
        ValueError: PyTorch has several threads, which do not exist in a forked process.
        RuntimeError: the forked process has crashed.
    """
    if torch.get_num_threads() != 1:
        raise ValueError("memory is measured with one thread: torch.set_num_threads(1)")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()
            Workspaces.free_unused()
            _LIBC.malloc_trim(0)
            before = _status("VmRSS")
            # Reset the peak.
            Path("/proc/self/clear_refs").write_text("5")
            call()
            os.write(writer, str(_status("VmHWM") - before).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError("the forked process has crashed")
    return int(text)


def _status(name: str) -> int:
    text = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) << 10
