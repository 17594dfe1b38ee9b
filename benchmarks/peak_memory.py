"""How much memory a call needs beyond what there is before it."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path

import torch

_LIBC = ctypes.CDLL(None)


def peak_memory(call: Callable[[], object]) -> int:
    """Bytes by which the resident memory of a forked process rises during its second call.

    The first call makes what is kept between calls; what it frees is given back to the system.

    Raises:
        ValueError: PyTorch has several threads, which a forked process would wait for in vain.
        RuntimeError: the forked process has crashed.
    """
    if torch.get_num_threads() != 1:
        raise ValueError("memory is measured with one thread: torch.set_num_threads(1)")
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            call()
            _LIBC.malloc_trim(0)
            before = _status("VmRSS")
            # The peak begins anew.
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
