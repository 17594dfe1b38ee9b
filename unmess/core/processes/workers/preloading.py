"""Imports that leave no second thread behind, so that the process may be forked."""

from __future__ import annotations

import gc
import logging
import os
import pkgutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unmess.core.garbage import exclude_all_objects

# OpenBLAS starts its threads when NumPy and SciPy load it, and reads this only then.
_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


def preload(modules: Sequence[str]) -> None:
    """Imports libraries for all forks of this process.

    Skips failed imports: the fork that needs the module imports it again, and reports the error.
    Their warnings and logs are dropped. NumPy's matrix products use one thread in the forks.

    Args:
        modules: names of modules, or of functions as `module:function`. Functions are called, to
            fill caches that all forks share.
    """
    gc.disable()
    with _one_blas_thread(), _no_logs(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in modules:
            try:
                found = pkgutil.resolve_name(name)
                if ":" in name:
                    found()
            except Exception:
                continue
    # Garbage collection in a fork writes to the objects that it visits, which copies their memory.
    # It skips frozen objects.
    exclude_all_objects()
    gc.enable()


def thread_count() -> int:
    """Returns the number of threads of this process, native ones included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        import psutil

        return psutil.Process().num_threads()


@contextmanager
def _no_logs() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    before = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_BLAS_THREADS]
        else:
            os.environ[_BLAS_THREADS] = before
