"""Converts tensors to memref descriptors, and the descriptors of results to tensors."""

from __future__ import annotations

import ctypes
import struct
from typing import NamedTuple

import torch

from pipelines.reference.execution.dlpack import dtype_code, owned_tensor
from unmess.core.signature.signature import ScalarSpec, TensorSpec

_SCALARS = {int: "q", float: "d", bool: "?"}
# The fields of a memref descriptor before its sizes and strides: the address of the allocation, the
# address of the data, and the offset of the first element, in elements.
_BEFORE_SIZES = 3
_WORD = 8


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
        self._numbers: list[tuple[int, int]] = []
        self._tensors: list[_Place] = []
        formats, field = "", 0
        for index, spec in enumerate(specs):
            own = _format(spec)
            formats += own
            if isinstance(spec, TensorSpec):
                offset = struct.calcsize(formats) - struct.calcsize(own)
                rank, dtype = len(spec.shape), spec.dtype
                self._tensors.append(_Place(index, field, offset, rank, dtype, dtype_code(dtype)))
                field += _BEFORE_SIZES + 2 * rank
            else:
                self._numbers.append((index, field))
                field += 1
        self._structure = struct.Struct(formats)

    def allocate(self) -> ctypes.Array:
        """Returns memory for the results of one call."""
        return ctypes.create_string_buffer(max(self._structure.size, 1))

    def take(self, structure: ctypes.Array) -> list[torch.Tensor | int | float | bool]:
        """Returns the results of a call. They own their memory from here on.

        The tensors share no elements: overlapping ones are copied. The compiler merges equal
        values, even if the model returns a copy, which its caller may write to.
        """
        fields = self._structure.unpack_from(structure)
        results: list = [None] * (len(self._numbers) + len(self._tensors))
        for index, field in self._numbers:
            results[index] = fields[field]
        allocations = {fields[place.field] for place in self._tensors}
        if len(allocations) < len(self._tensors):
            self._take_shared(fields, results)
            return results
        start = ctypes.addressof(structure)
        for index, field, offset, rank, dtype, code in self._tensors:
            allocated, aligned, first = fields[field : field + _BEFORE_SIZES]
            sizes = start + offset + _BEFORE_SIZES * _WORD
            data = aligned + first * dtype.itemsize
            results[index] = owned_tensor(allocated, data, code, rank, sizes)
        return results

    def _take_shared(self, fields: tuple, results: list) -> None:
        """Takes tensors of which some are in the same allocation."""
        blocks = [_Block.read(fields, place) for place in self._tensors]
        # A tensor may use only the beginning of its allocation.
        ends: dict[int, int] = {}
        for block in blocks:
            ends[block.allocated] = max(block.end, ends.get(block.allocated, 1))
        owners = {allocated: _owned_bytes(allocated, end) for allocated, end in ends.items()}
        taken: dict[int, list[_Block]] = {allocated: [] for allocated in owners}
        for place, block in zip(self._tensors, blocks, strict=True):
            earlier = taken[block.allocated]
            tensor = block.tensor(owners[block.allocated])
            overlaps = any(map(block.overlaps, earlier))
            results[place.index] = tensor.clone() if overlaps else tensor
            earlier.append(block)


class _Place(NamedTuple):
    """Where a tensor's descriptor is among the results of a call.

    Attributes:
        index: the number of the result.
        field: the number of the descriptor's first field.
        offset: the offset of that field, in bytes.
        code: DLPack's form of the dtype.
    """

    index: int
    field: int
    offset: int
    rank: int
    dtype: torch.dtype
    code: bytes


def _format(spec: TensorSpec | ScalarSpec) -> str:
    """Returns the fields of a result, in the notation of `struct`."""
    if isinstance(spec, ScalarSpec):
        return _SCALARS[spec.type]
    return f"{_BEFORE_SIZES + 2 * len(spec.shape)}q"


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
    def read(cls, fields: tuple, place: _Place) -> _Block:
        """Reads a descriptor."""
        allocated, aligned, first = fields[place.field : place.field + _BEFORE_SIZES]
        sizes = fields[place.field + _BEFORE_SIZES :]
        start = aligned - allocated + first * place.dtype.itemsize
        rank = place.rank
        return cls(allocated, start, sizes[:rank], sizes[rank : 2 * rank], place.dtype)

    def overlaps(self, other: _Block) -> bool:
        """Returns whether two blocks of one allocation have bytes in common, or between them."""
        return self.start < other.end and other.start < self.end

    def tensor(self, owner: torch.Tensor) -> torch.Tensor:
        """Returns a tensor that views the elements in the bytes of `owner`."""
        if not self.count:
            return torch.empty(self.shape, dtype=self.dtype, device="cpu")
        data = owner[self.start : self.end].view(self.dtype)
        return data.as_strided(self.shape, self.strides)


def _owned_bytes(allocated: int, length: int) -> torch.Tensor:
    """Returns the first bytes of an allocation, which is freed with the last tensor in it."""
    sizes_and_strides = (ctypes.c_int64 * 2)(length, 1)
    return owned_tensor(
        allocated, allocated, dtype_code(torch.uint8), 1, ctypes.addressof(sizes_and_strides)
    )
