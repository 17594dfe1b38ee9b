"""What calls compiled programs, and what they call: `runtime.mlir`, compiled once for a process."""

from __future__ import annotations

import _signal
import ctypes
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from torch_mlir import ir
from torch_mlir.execution_engine import ExecutionEngine

_FILE = Path(__file__).with_suffix(".mlir")
# The symbols by which programs call the runtime.
ALLOCATE = "unmess_allocate"
FREE = "_mlir_memref_to_llvm_free"
FAIL = "unmess_fail"
DO_PARTS = "unmess_do_parts"
_CALLED = (ALLOCATE, FREE, FAIL, DO_PARTS)
# What the runtime calls to have a team of threads. With PyTorch's own OpenMP the threads are those
# that PyTorch has, and as many.
_OPENMP = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
# What `run` reports in place of a check's number.
_PASSED, _INTERRUPTED = -1, -2


@dataclass(frozen=True)
class Failure:
    """A check that failed: its number, and for an allocation the bytes that were asked for."""

    number: int
    amount: int


class Runtime:
    """The functions of `runtime.mlir`. There is one, `Runtime.get()`, as long as the process lives.

    Attributes:
        symbols: the addresses of what programs call, by name.
    """

    _lock: ClassVar = threading.Lock()
    _instance: ClassVar[Runtime | None] = None

    @classmethod
    def get(cls) -> Runtime:
        """The process's runtime."""
        with cls._lock:
            if cls._instance is None:
                cls._instance = cls()
            return cls._instance

    def __init__(self) -> None:
        with ir.Context():
            self._engine = ExecutionEngine(ir.Module.parse(_FILE.read_text()), opt_level=2)
        addresses = (ctypes.c_void_p * (len(_CALLED) + len(_OPENMP) + 2))()
        addresses[-len(_OPENMP) :] = _openmp()
        # Its arguments as MLIR packs them: an array of where each one is.
        argument = ctypes.c_void_p(ctypes.addressof(addresses))
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(argument))
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._engine.raw_lookup("start"))(arguments)
        run, release, *called = addresses[: -len(_OPENMP)]
        self._run = ctypes.CFUNCTYPE(
            None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int
        )(run)
        # Frees the memory of a result, whose address it takes.
        self.release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release)
        self.symbols = dict(zip(_CALLED, called, strict=True))

    def run(self, function: int, arguments: Sequence[int]) -> Failure | None:
        """Calls a compiled program, while other threads of Python go on.

        Args:
            function: the address of an entry function as MLIR packs them.
            arguments: the address of each argument, and of the place for the results.

        Returns:
            The check that failed. All that the call has allocated is freed then.

        Raises:
            KeyboardInterrupt: on SIGINT in the main thread, at once, unless somebody has put
                another handler in the place of Python's own. All is freed then, too.
        """
        packed = (ctypes.c_void_p * len(arguments))(*arguments)
        report = (ctypes.c_int64 * 2)()
        self._run(function, packed, report, _interrupts_end_calls())
        number, amount = report
        if number == _INTERRUPTED:
            raise KeyboardInterrupt
        return None if number == _PASSED else Failure(number, amount)


def _openmp() -> list[int | None]:
    """The addresses of OpenMP's functions, if the OpenMP of GCC is here: PyTorch brings it."""
    try:
        library = ctypes.CDLL("libgomp.so.1")
        return [ctypes.cast(library[name], ctypes.c_void_p).value for name in _OPENMP]
    except (OSError, AttributeError):
        return [None] * len(_OPENMP)


def _interrupts_end_calls() -> bool:
    """Whether SIGINT means KeyboardInterrupt in this thread."""
    # `signal.getsignal` makes an enumeration of what this returns, and takes longer than a small
    # program for it.
    return (
        threading.get_ident() == threading.main_thread().ident
        and _signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
