"""Converts tensors to memref descriptors and back, and tracks who owns the memory."""

from __future__ import annotations

import ctypes
import struct
import weakref
from collections.abc import Iterator
from itertools import islice

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
    """The structure with the results of a call, which the entry function fills in."""

    def __init__(self, specs: list[TensorSpec | ScalarSpec]):
        self._specs = specs
        self._structure = struct.Struct("".join(map(_format, specs)))

    def allocate(self) -> ctypes.Array:
        """Returns memory for the results of one call."""
        return ctypes.create_string_buffer(max(self._structure.size, 1))

    def take(self, structure: ctypes.Array) -> list[torch.Tensor | int | float | bool]:
        """Returns the results of a call. They own their memory from here on.

        The tensors share no elements: overlapping ones are copied. The compiler merges equal
        values, even if the model returns a copy, which its caller may write to.
        """
        fields = iter(self._structure.unpack_from(structure))
        results = [
            _Block.read(fields, spec) if isinstance(spec, TensorSpec) else next(fields)
            for spec in self._specs
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


def _format(spec: TensorSpec | ScalarSpec) -> str:
    """Returns the fields of a result, in the notation of `struct`."""
    return f"{3 + 2 * len(spec.shape)}q" if isinstance(spec, TensorSpec) else _SCALARS[spec.type]


class _Block:
    """A result's memref descriptor.

    Its elements need not be dense: a result may be a part of another tensor, such as one without
    padding.

    Attributes:
        allocated: the address of the allocation.
        start, end: the bytes of the allocation from its first element up to the end of the last.
        count: the number of elements from the first to the last one, with those between.
    """

    __slots__ = ("allocated", "count", "dtype", "end", "shape", "start", "strides")

    def __init__(
        self,
        allocated: int,
        start: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        dtype: torch.dtype,
    ):
        self.allocated = allocated
        self.start = start
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.count = 0
        if 0 not in shape:
            self.count = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        self.end = start + self.count * dtype.itemsize

    @classmethod
    def read(cls, fields: Iterator[int], spec: TensorSpec) -> _Block:
        """Reads the next descriptor."""
        rank = len(spec.shape)
        allocated, aligned, offset = next(fields), next(fields), next(fields)
        sizes = tuple(islice(fields, 2 * rank))
        start = aligned - allocated + offset * spec.dtype.itemsize
        return cls(allocated, start, sizes[:rank], sizes[rank:], spec.dtype)

    def overlaps(self, other: _Block) -> bool:
        """Returns whether two blocks of one allocation have bytes in common, or between them."""
        return self.start < other.end and other.start < self.end

    def tensor(self, owner: ctypes.Array) -> torch.Tensor:
        """Returns a tensor that views the elements in the memory of `owner`."""
        if not self.count:
            return torch.empty(self.shape, dtype=self.dtype)
        data = torch.frombuffer(owner, dtype=self.dtype, count=self.count, offset=self.start)
        return data.as_strided(self.shape, self.strides)


def _owned(allocated: int, length: int) -> ctypes.Array:
    """Returns memory that is freed with the last tensor in it. `length` must not be 0."""
    owner = (ctypes.c_char * length).from_address(allocated)
    # The end of the process frees the memory anyway, and other objects may still use it by then.
    weakref.finalize(owner, Runtime.get().release, allocated).atexit = False
    return owner
