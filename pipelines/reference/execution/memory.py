"""Converts tensors to memref descriptors and back, and tracks who owns the memory."""

from __future__ import annotations

import ctypes
import math
import struct
import weakref
from dataclasses import dataclass

import torch

from pipelines.reference.runtime import Runtime
from unmess.core.signature.signature import ScalarSpec, TensorSpec

_SCALARS = {int: "q", float: "d", bool: "?"}


def descriptor(tensor: torch.Tensor) -> ctypes.Array:
    """Returns the memref descriptor of a contiguous tensor. It borrows the memory."""
    # A 0-sized tensor may have a null pointer; nothing reads it.
    fields = (tensor.data_ptr(), tensor.data_ptr(), 0, *tensor.shape, *tensor.stride())
    return (ctypes.c_int64 * len(fields))(*fields)


def scalar(value: int | float | bool) -> ctypes.Array:
    """Returns a number in the form in which entry functions take it, by value."""
    return ctypes.create_string_buffer(struct.pack(_SCALARS[type(value)], value))


class ResultLayout:
    """The offset of each result in the structure that the entry function fills in."""

    def __init__(self, specs: list[TensorSpec | ScalarSpec]):
        self._specs = specs
        self._offsets = []
        end = 0
        for spec in specs:
            size, alignment = _size(spec)
            start = -(-end // alignment) * alignment
            self._offsets.append(start)
            end = start + size
        self.size = end

    def allocate(self) -> ctypes.Array:
        """Returns memory for the results of one call."""
        return ctypes.create_string_buffer(max(self.size, 1))

    def take(self, structure: ctypes.Array) -> list[torch.Tensor | int | float | bool]:
        """Returns the results of a call. They own their memory from here on.

        The tensors share no elements: overlapping ones are copied. The compiler merges equal
        values, even if the model returns a copy, which its caller may write to.
        """
        results = [
            _Block.read(structure, offset, spec)
            if isinstance(spec, TensorSpec)
            else struct.unpack_from(_SCALARS[spec.type], structure, offset)[0]
            for spec, offset in zip(self._specs, self._offsets, strict=True)
        ]
        # Several results may share an allocation, and one may use only its beginning.
        ends: dict[int, int] = {}
        for block in results:
            if isinstance(block, _Block):
                ends[block.allocated] = max(block.end, ends.get(block.allocated, 1))
        owners = {allocated: _owned(allocated, end) for allocated, end in ends.items()}
        taken: dict[int, list[_Block]] = {allocated: [] for allocated in owners}
        for index, block in enumerate(results):
            if isinstance(block, _Block):
                earlier = taken[block.allocated]
                tensor = block.tensor(owners[block.allocated])
                results[index] = tensor.clone() if any(map(block.overlaps, earlier)) else tensor
                earlier.append(block)
        return results


def _size(spec: TensorSpec | ScalarSpec) -> tuple[int, int]:
    if isinstance(spec, TensorSpec):
        return 8 * (3 + 2 * len(spec.shape)), 8
    size = struct.calcsize(_SCALARS[spec.type])
    return size, size


@dataclass(frozen=True)
class _Block:
    """A result's memref descriptor: elements from byte `start` up to byte `end`.

    They need not be dense: a result may be a part of another tensor, such as one without padding.
    """

    allocated: int
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: torch.dtype

    @classmethod
    def read(cls, structure: ctypes.Array, offset: int, spec: TensorSpec) -> _Block:
        """Reads a descriptor from the structure of results."""
        rank = len(spec.shape)
        allocated, aligned, start, *rest = struct.unpack_from(f"{3 + 2 * rank}q", structure, offset)
        start = aligned - allocated + start * spec.dtype.itemsize
        return cls(allocated, start, tuple(rest[:rank]), tuple(rest[rank:]), spec.dtype)

    @property
    def end(self) -> int:
        return self.start + self._count() * self.dtype.itemsize

    def overlaps(self, other: _Block) -> bool:
        """Returns whether two blocks of one allocation have bytes in common, or between them."""
        return self.start < other.end and other.start < self.end

    def _count(self) -> int:
        """Returns the number of elements from the first to the last one, with those between."""
        if not math.prod(self.shape):
            return 0
        steps = zip(self.shape, self.strides, strict=True)
        return 1 + sum((size - 1) * stride for size, stride in steps)

    def tensor(self, owner: ctypes.Array) -> torch.Tensor:
        """Returns a tensor that views the elements in the memory of `owner`."""
        if not math.prod(self.shape):
            return torch.empty(self.shape, dtype=self.dtype)
        data = torch.frombuffer(owner, dtype=self.dtype, count=self._count(), offset=self.start)
        return data.as_strided(self.shape, self.strides)


def _owned(allocated: int, length: int) -> ctypes.Array:
    """Returns memory that is freed with the last tensor in it. `length` must not be 0."""
    owner = (ctypes.c_char * length).from_address(allocated)
    # The end of the process frees the memory anyway, and other objects may still use it by then.
    weakref.finalize(owner, Runtime.get().release, allocated).atexit = False
    return owner
