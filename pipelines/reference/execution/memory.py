"""Tensors to memref descriptors and back, and who owns the memory."""

from __future__ import annotations

import ctypes
import math
import struct
import weakref
from dataclasses import dataclass

import torch

from pipelines.reference.execution.runtime import Runtime
from unmess.core.signature import ScalarSpec, TensorSpec

_SCALARS = {int: "q", float: "d", bool: "?"}


def descriptor(tensor: torch.Tensor) -> ctypes.Array:
    """The memref descriptor of a contiguous tensor. It borrows the memory."""
    # A 0-sized tensor may have a null pointer; nothing reads it.
    fields = (tensor.data_ptr(), tensor.data_ptr(), 0, *tensor.shape, *tensor.stride())
    return (ctypes.c_int64 * len(fields))(*fields)


def scalar(value: int | float | bool) -> ctypes.Array:
    """A number as the entry function takes it, by value."""
    return ctypes.create_string_buffer(struct.pack(_SCALARS[type(value)], value))


class ResultLayout:
    """Where each result lies in the structure that the entry function fills in."""

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
        """Room for one call's results."""
        return ctypes.create_string_buffer(max(self.size, 1))

    def take(self, structure: ctypes.Array) -> list[torch.Tensor | int | float | bool]:
        """The results of a call, which own their memory from here on."""
        results = [
            _Block.read(structure, offset, spec)
            if isinstance(spec, TensorSpec)
            else struct.unpack_from(_SCALARS[spec.type], structure, offset)[0]
            for spec, offset in zip(self._specs, self._offsets, strict=True)
        ]
        # Several may lie in the same memory, one of them only in its beginning.
        ends: dict[int, int] = {}
        for block in results:
            if isinstance(block, _Block):
                ends[block.allocated] = max(block.end, ends.get(block.allocated, 1))
        owners = {allocated: _owned(allocated, end) for allocated, end in ends.items()}
        return [
            block.tensor(owners[block.allocated]) if isinstance(block, _Block) else block
            for block in results
        ]


def _size(spec: TensorSpec | ScalarSpec) -> tuple[int, int]:
    if isinstance(spec, TensorSpec):
        return 8 * (3 + 2 * len(spec.shape)), 8
    size = struct.calcsize(_SCALARS[spec.type])
    return size, size


@dataclass(frozen=True)
class _Block:
    """A result's memref descriptor: a dense block, from `start` to `end` in bytes."""

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
        return self.start + math.prod(self.shape) * self.dtype.itemsize

    def tensor(self, owner: ctypes.Array) -> torch.Tensor:
        """The elements where they are, in the memory of `owner`."""
        if not math.prod(self.shape):
            return torch.empty(self.shape, dtype=self.dtype)
        data = torch.frombuffer(
            owner, dtype=self.dtype, count=math.prod(self.shape), offset=self.start
        )
        return data.as_strided(self.shape, self.strides)


def _owned(allocated: int, length: int) -> ctypes.Array:
    """Memory that is freed with the last tensor in it. An empty array could not be tied to it."""
    owner = (ctypes.c_char * length).from_address(allocated)
    # At the end of the process its memory goes with it, and other things may still use it.
    weakref.finalize(owner, Runtime.get().release, allocated).atexit = False
    return owner
