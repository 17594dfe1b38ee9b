"""Tensors to memref descriptors and back, and who owns the memory."""

from __future__ import annotations

import ctypes
import struct
import weakref

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
        owners: dict[int, ctypes.Array] = {}
        return [
            _take_tensor(structure, offset, spec, owners)
            if isinstance(spec, TensorSpec)
            else struct.unpack_from(_SCALARS[spec.type], structure, offset)[0]
            for spec, offset in zip(self._specs, self._offsets, strict=True)
        ]


def _size(spec: TensorSpec | ScalarSpec) -> tuple[int, int]:
    if isinstance(spec, TensorSpec):
        return 8 * (3 + 2 * len(spec.shape)), 8
    size = struct.calcsize(_SCALARS[spec.type])
    return size, size


def _take_tensor(structure, offset: int, spec: TensorSpec, owners) -> torch.Tensor:
    rank = len(spec.shape)
    allocated, aligned, start, *rest = struct.unpack_from(f"{3 + 2 * rank}q", structure, offset)
    shape, strides = rest[:rank], rest[rank:]
    elements = 1
    for size in shape:
        elements *= size
    if allocated not in owners:
        # The result is a dense block, so its end is that of the last element. One byte at least:
        # an empty array could not be tied to the memory.
        length = max(aligned - allocated + (start + elements) * spec.dtype.itemsize, 1)
        owner = (ctypes.c_char * length).from_address(allocated)
        # At the end of the process its memory goes with it, and other things may still use it.
        weakref.finalize(owner, Runtime.get().release, allocated).atexit = False
        owners[allocated] = owner
    if elements == 0:
        return torch.empty(shape, dtype=spec.dtype)
    data = torch.frombuffer(
        owners[allocated],
        dtype=spec.dtype,
        count=elements,
        offset=aligned - allocated + start * spec.dtype.itemsize,
    )
    return data.as_strided(shape, strides)
