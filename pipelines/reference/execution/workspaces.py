"""Memory for temporaries, which programs use again in each call.

The system clears new memory page by page, which took half of the time of EfficientNet-B0 with eight
images. In large pages, addresses also need fewer entries of the processor's address cache (TLB).
"""

from __future__ import annotations

import ctypes
import mmap
import threading
import weakref
from collections import Counter
from contextlib import suppress
from typing import ClassVar

from unmess.core.errors.check import Check

# Bytes of a large page on x86-64 and, by default, on aarch64.
_LARGE_PAGE = 2 << 20


class Workspace:
    """Memory of one call.

    Attributes:
        size: bytes.
        descriptor: its memref descriptor.
    """

    __slots__ = ("_memory", "descriptor", "size")

    def __init__(self, size: int):
        """Allocates memory.

        Raises:
            Error: stage `run`, if there is not enough memory.
        """
        large = size >= _LARGE_PAGE
        length = -(-size // _LARGE_PAGE) * _LARGE_PAGE if large else size
        try:
            self._memory = mmap.mmap(-1, length + (_LARGE_PAGE if large else 0))
        except OSError as problem:
            raise Check(None, None).error(size) from problem
        address = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        if large:
            # Not every kernel has large pages.
            with suppress(AttributeError, OSError):
                self._memory.madvise(mmap.MADV_HUGEPAGE)
            address = -(-address // _LARGE_PAGE) * _LARGE_PAGE
        self.size = size
        self.descriptor = (ctypes.c_int64 * 5)(address, address, 0, size, 1)


class Workspaces:
    """The workspaces of the process that no call uses. Any number of threads may use them.

    A workspace serves all programs, one call at a time. It is freed when no loaded program needs
    one of its size.
    """

    _free: ClassVar[list[Workspace]] = []
    # How many functions need a workspace of each size.
    _needed: ClassVar[Counter[int]] = Counter()
    # Reentrant, because a garbage collection may free an owner at any time.
    _lock: ClassVar = threading.RLock()

    @classmethod
    def reserve(cls, owner: object, size: int) -> None:
        """Keeps workspaces of up to `size` bytes until `owner` is freed."""
        with cls._lock:
            cls._needed[size] += 1
        weakref.finalize(owner, cls._release, size).atexit = False

    @classmethod
    def take(cls, size: int) -> Workspace:
        """Returns a workspace of at least `size` bytes, for one call.

        Raises:
            Error: stage `run`, if there is not enough memory.
        """
        # Methods of a list are atomic.
        try:
            workspace = cls._free.pop()
        except IndexError:
            return Workspace(size)
        return workspace if workspace.size >= size else Workspace(size)

    @classmethod
    def give_back(cls, workspace: Workspace) -> None:
        """Keeps a workspace for the next call."""
        cls._free.append(workspace)

    @classmethod
    def free_unused(cls) -> None:
        """Frees all workspaces that no call uses. The next calls allocate new ones."""
        cls._free.clear()

    @classmethod
    def _release(cls, size: int) -> None:
        with cls._lock:
            cls._needed[size] -= 1
            if not cls._needed[size]:
                del cls._needed[size]
            largest = max(cls._needed, default=0)
        for workspace in tuple(cls._free):
            if workspace.size > largest:
                # A call may have taken it since.
                with suppress(ValueError):
                    cls._free.remove(workspace)
