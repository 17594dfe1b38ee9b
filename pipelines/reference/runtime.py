"""Loads `runtime.mlir`, once per process. It calls programs, and has functions that they call."""

from __future__ import annotations

import _signal
import contextlib
import ctypes
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine

_FILE = Path(__file__).with_suffix(".mlir")
# Symbols of the runtime that programs call.
ALLOCATE = "unmess_allocate"
FREE = "_mlir_memref_to_llvm_free"
FAIL = "unmess_fail"
DO_PARTS = "unmess_do_parts"
_CALLED = (ALLOCATE, FREE, FAIL, DO_PARTS)
# Functions that the runtime calls to run a team of threads. They come from PyTorch's OpenMP, so
# programs use the same threads as PyTorch, and the same number.
_OPENMP = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
# Settings of glibc's `mallopt`, and the environment variables by which users change them.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_OWN_SETTINGS = ("GLIBC_TUNABLES", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_")
# Bytes of freed memory that the C library keeps.
_KEPT = 128 << 20
# Values that `run` reports instead of the number of a failed check.
_PASSED, _INTERRUPTED = -1, -2


@dataclass(frozen=True)
class Failure:
    """A failed check: its number, and for an allocation the number of requested bytes."""

    number: int
    amount: int


class Runtime:
    """The functions of `runtime.mlir`. `Runtime.get()` is the only instance in a process.

    Attributes:
        symbols: the addresses of the functions that programs call, by name.
    """

    _lock: ClassVar = threading.Lock()
    _instance: ClassVar[Runtime | None] = None

    @classmethod
    def get(cls) -> Runtime:
        """Returns the runtime of the process."""
        if cls._instance is None:
            with cls._lock:
                if cls._instance is None:
                    cls._instance = cls()
        return cls._instance

    def __init__(self) -> None:
        _keep_freed_memory()
        with ir.Context():
            self._engine = ExecutionEngine(ir.Module.parse(_FILE.read_text()), opt_level=2)
        addresses = (ctypes.c_void_p * (1 + len(_CALLED) + len(_OPENMP)))()
        addresses[-len(_OPENMP) :] = _openmp()
        # MLIR's packed interface takes an array of the addresses of the arguments.
        argument = ctypes.c_void_p(ctypes.addressof(addresses))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._engine.raw_lookup("start"))(arguments)
        run, *called = addresses[: -len(_OPENMP)]
        self._run = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
        )(run)
        self.symbols = dict(zip(_CALLED, called, strict=True))

    def run(self, function: int, arguments: Sequence[int]) -> Failure | None:
        """Calls a compiled program. Other Python threads keep running.

        Args:
            function: the address of an entry function with MLIR's packed interface.
            arguments: the address of each argument.

        Returns:
            The check that failed, if any. The memory that the call has allocated is then freed.

        Raises:
            KeyboardInterrupt: immediately on SIGINT in the main thread, unless Python's own handler
                has been replaced. The memory that the call has allocated is freed.
        """
        packed = (ctypes.c_void_p * len(arguments))(*arguments)
        report = (ctypes.c_int64 * 2)()
        self._run(function, packed, report, _interrupts_end_calls())
        number, amount = report
        if number == _INTERRUPTED:
            raise KeyboardInterrupt
        return None if number == _PASSED else Failure(number, amount)


def _keep_freed_memory() -> None:
    """Makes the C library keep up to 128 MB of freed memory for later calls.

    By default, it returns the memory of large buffers to the system, and the system clears the
    memory of the next ones, page by page. This concerns results, and temporaries that are not in a
    workspace (`execution/workspaces.py`).
    """
    if any(name in os.environ for name in _OWN_SETTINGS):
        return
    # Another C library does not have this function, and another allocator ignores it.
    with contextlib.suppress(AttributeError):
        change = ctypes.CDLL(None).mallopt
        for setting in (_M_MMAP_THRESHOLD, _M_TRIM_THRESHOLD):
            change(setting, _KEPT)


def _openmp() -> list[int | None]:
    """Returns the addresses of OpenMP's functions, or Nones without GCC's OpenMP.

    PyTorch ships it.
    """
    try:
        library = ctypes.CDLL("libgomp.so.1")
        return [ctypes.cast(library[name], ctypes.c_void_p).value for name in _OPENMP]
    except (OSError, AttributeError):
        return [None] * len(_OPENMP)


def _interrupts_end_calls() -> bool:
    """Returns whether SIGINT raises KeyboardInterrupt in this thread."""
    # `signal.getsignal` converts this result to an enumeration, which takes longer than a small
    # program.
    return (
        threading.get_ident() == threading.main_thread().ident
        and _signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
