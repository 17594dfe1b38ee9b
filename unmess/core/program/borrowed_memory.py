"""Notices when memory that compiled code reads in place was moved, resized or freed."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping

import numpy
import torch

from unmess.core.errors.error import Error

_WORD = 8
# All memory as words. NumPy reads many of them in one call and does not wait for each one. After a
# call of a model, its storages are not in the processor's cache: a Python call for each of the 266
# storages of MobileNetV3 took 3 % of the model's time. NumPy takes address 0 for no memory, so the
# array begins with the second word.
_MEMORY = numpy.frombuffer((ctypes.c_int64 * (1 << 44)).from_address(_WORD), numpy.int64)
# The number of words at the beginning of PyTorch's StorageImpl that have the address and the size.
_FIELDS = 8


class BorrowedMemory:
    """The memory of tensors that compiled code reads in place, call after call.

    PyTorch can move or free memory that others use as well: `untyped_storage().resize_()`,
    `share_memory_()`. An Executable keeps the storage alive, but the address can change.
    """

    def __init__(self, tensors: Mapping[str, torch.Tensor]):
        names = {tensor.untyped_storage()._cdata: name for name, tensor in tensors.items()}
        self._names = list(names.values())
        self._storages = [tensors[name].untyped_storage() for name in self._names]
        self._places = _places(self._storages)
        # First: asking for an address gives a lazily cloned storage its own memory.
        self._before = self._addresses_and_sizes()
        self._found = self._content()

    def check(self) -> None:
        """Compares addresses and sizes with those at load.

        Raises:
            Error: stage `run`; the memory of a tensor was moved, resized or freed.
        """
        if self._content() == self._found:
            return
        now = self._addresses_and_sizes()
        for name, (address, size), (old_address, old_size) in zip(
            self._names, now, self._before, strict=True
        ):
            if (address, size) != (old_address, old_size):
                raise Error(
                    "run",
                    f"the memory of weight {name} was moved, resized or freed after the "
                    f"load: {size:,} bytes at {address:#x}, expected {old_size:,} at "
                    f"{old_address:#x}",
                    hint="load the program again after the last change of the model's memory",
                )

    def _content(self) -> bytes | list[tuple[int, int]]:
        """Returns all addresses and sizes in a form that is quick to compare."""
        if self._places is None:
            return self._addresses_and_sizes()
        return _MEMORY.take(self._places).tobytes()

    def _addresses_and_sizes(self) -> list[tuple[int, int]]:
        return [(storage.data_ptr(), storage.nbytes()) for storage in self._storages]


def _places(storages: list[torch.UntypedStorage]) -> numpy.ndarray | None:
    """Returns the indices in `_MEMORY` of the address and the size of each storage."""
    fields = _fields()
    if fields is None:
        return None
    starts = numpy.array([storage._cdata for storage in storages], numpy.int64) // _WORD - 1
    return (starts[:, None] + fields).ravel()


@functools.cache
def _fields() -> tuple[int, int] | None:
    """Returns the positions, in words, of the address and the size in PyTorch's StorageImpl.

    Finds them in a storage whose address and size are known. Returns None if a future version of
    PyTorch does not have them once each.
    """
    content = bytearray(12345)
    storage = torch.frombuffer(content, dtype=torch.uint8).untyped_storage()
    words = list((ctypes.c_int64 * _FIELDS).from_address(storage._cdata))
    fields = storage.data_ptr(), storage.nbytes()
    if [words.count(field) for field in fields] != [1, 1]:
        return None
    return words.index(fields[0]), words.index(fields[1])
