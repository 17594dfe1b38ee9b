"""Determines which elements of memory an operation reads and writes, and whether two overlap."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.sizes import element_bytes
from pipelines.ir.values import constant_integer, producer
from pipelines.reference.analysis.aliasing import VIEWS, memory_block, viewed

# Prefixes of operations that neither read nor write the elements of a buffer.
_NO_ACCESS = (
    "arith.",
    "complex.",
    "linalg.index",
    "linalg.yield",
    "math.",
    "memref.alloc",
    "memref.dim",
    "memref.get_global",
    "scf.for",
    "scf.if",
    "scf.yield",
    *VIEWS,
)


@dataclass(frozen=True)
class Region:
    """The elements that an operation reads or writes in one memory block, or more than these.

    They form a box: one element at each `start + step * part + sum(index * stride)`, for all
    indices below the sizes of the axes.

    Attributes:
        block: the memory block, as `memory_block` returns it.
        start: the index of the first element in the block, for part 0.
        step: the distance of the first elements of two consecutive parts.
        axes: the stride and the size of each axis, with the largest stride first. Strides are
            positive, and no size is 1.
        writes: whether elements are written.
        bytes: the size of the block.
    """

    block: ir.Value | str
    start: int
    step: int
    axes: tuple[tuple[int, int], ...]
    writes: bool
    bytes: int

    @property
    def span(self) -> int:
        """The number of elements from the first to the last, with both."""
        return 1 + sum((size - 1) * stride for stride, size in self.axes)

    @property
    def is_share(self) -> bool:
        """Whether the elements of each part lie between the first ones of it and of the next."""
        return self.start + self.span <= self.step


def regions(operation: ir.Operation, part: ir.Value | None = None) -> list[Region] | None:
    """Returns all regions that an operation accesses, with the operations inside it.

    Args:
        part: the index of a part, if the operation is the body of a loop over parts.

    Returns:
        None if not all of them are known.
    """
    found = []
    for inner in find_operations(operation, lambda each: not each.name.startswith(_NO_ACCESS)):
        accesses = _accesses(inner)
        if accesses is None:
            return None
        for value, writes, is_whole in accesses:
            accessed = region(value, writes=writes, is_whole=is_whole, part=part)
            if accessed is None:
                return None
            found.append(accessed)
    return found


def overlap(first: Region, second: Region, parts: int) -> bool:
    """Returns whether different parts of two regions may access the same element.

    Args:
        parts: their number.

    Returns:
        False also if both regions are only read.
    """
    if first.block != second.block or not (first.writes or second.writes):
        return False
    if first.step == second.step and first.is_share and second.is_share:
        return False
    strides = sorted({1, *(stride for stride, _ in (*first.axes, *second.axes))}, reverse=True)
    nested = all(large % small == 0 for large, small in itertools.pairwise(strides))
    for i, j in _pairs(first.step, second.step, parts):
        ours, theirs = first.start + i * first.step, second.start + j * second.step
        if nested:
            boxes = zip(
                _ranges(first, ours, strides), _ranges(second, theirs, strides), strict=True
            )
            apart = any(a_last < b or b_last < a for (a, a_last), (b, b_last) in boxes)
        else:
            apart = ours + first.span <= theirs or theirs + second.span <= ours
        if not apart:
            return True
    return False


def _pairs(first: int, second: int, parts: int) -> Iterable[tuple[int, int]]:
    """Returns pairs of different parts that represent all of them.

    Args:
        first, second: the steps of the regions from part to part.
    """
    if first == second:
        # Only the difference counts.
        return [*((part, 0) for part in range(1, parts)), *((0, part) for part in range(1, parts))]
    return itertools.permutations(range(parts), 2)


def _ranges(region: Region, start: int, strides: list[int]) -> list[tuple[int, int]]:
    """Returns a box in a space with the given axes that contains the region.

    Args:
        start: the index of its first element.
        strides: those of the axes; each is a multiple of the next one, and the last one is 1.

    Returns:
        The first and the last index of the box along each axis.
    """
    sizes = dict.fromkeys(strides, 1)
    for stride, size in region.axes:
        sizes[stride] += size - 1
    first = []
    for stride in strides:
        first.append(start // stride)
        start %= stride
    last = [index + sizes[stride] - 1 for index, stride in zip(first, strides, strict=True)]
    for axis in range(len(strides) - 1, 0, -1):
        length = strides[axis - 1] // strides[axis]
        if last[axis] >= length:
            # The region continues in the next rows. The box gets all of each row.
            last[axis - 1] += last[axis] // length
            first[axis], last[axis] = 0, length - 1
    return list(zip(first, last, strict=True))


def _accesses(operation: ir.Operation) -> list[tuple[ir.Value, bool, bool]] | None:
    """Returns the buffers that an operation itself accesses, without those inside it.

    With each comes whether it is written, and whether any element of its memory block may be
    accessed. Returns None for an operation that may do anything else.
    """
    buffers = [value for value in operation.operands if isinstance(value.type, ir.MemRefType)]
    if operation.name.startswith("linalg.") and "operandSegmentSizes" in operation.attributes:
        inputs = operation.attributes["operandSegmentSizes"][0]
        written = list(operation.operands)[inputs:]
        return [(value, value in written, False) for value in buffers]
    if operation.name in ("memref.load", "memref.store"):
        return [(value, operation.name == "memref.store", True) for value in buffers]
    return None


def region(
    value: ir.Value, *, writes: bool, is_whole: bool = False, part: ir.Value | None = None
) -> Region | None:
    """Returns the region of a buffer; None if it is unknown.

    Args:
        is_whole: the region is the whole memory block.
        part: see `regions`.
    """
    block = memory_block(value)
    root = viewed(value)
    if block is None or not _is_static(root.type):
        return None
    size = math.prod(root.type.shape)
    total = size * element_bytes(root.type.element_type)
    if is_whole:
        return Region(block, 0, 0, ((1, size),) if size != 1 else (), writes, total)
    offset = _offset(value, part)
    if offset is None or not _is_static(value.type):
        return None
    strides, _ = value.type.get_strides_and_offset()
    axes = [*zip(strides, value.type.shape, strict=True), *offset.axes]
    axes = sorted([(n, size) for n, size in axes if n and size != 1], reverse=True)
    if any(stride < 0 for stride, _ in axes) or offset.start < 0 or offset.step < 0:
        return None
    return Region(block, offset.start, offset.step, tuple(axes), writes, total)


def _is_static(type: ir.MemRefType) -> bool:
    """Returns whether the sizes and strides are known."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    return type.has_static_shape and dynamic not in type.get_strides_and_offset()[0]


@dataclass(frozen=True)
class _Index:
    """The values of an index: `start + step * part + sum(n * stride)`, with n below each size.

    Attributes:
        axes: the stride and the size of each loop that the index depends on.
    """

    start: int = 0
    step: int = 0
    axes: tuple[tuple[int, int], ...] = field(default=())

    def plus(self, other: _Index) -> _Index:
        return _Index(self.start + other.start, self.step + other.step, self.axes + other.axes)

    def times(self, factor: int) -> _Index:
        axes = tuple((stride * factor, size) for stride, size in self.axes)
        return _Index(self.start * factor, self.step * factor, axes)


def _offset(value: ir.Value, part: ir.Value | None) -> _Index | None:
    """Returns the index of a buffer's first element in its memory block; None if unknown."""
    operation = producer(value)
    if operation is None or operation.name not in VIEWS:
        _, offset = value.type.get_strides_and_offset()
        return None if offset else _Index()
    if operation.name == "memref.reinterpret_cast":
        return None
    source = operation.operands[0]
    total = _offset(source, part)
    if total is None or operation.name != "memref.subview":
        return total
    if not _is_static(source.type):
        return None
    strides, _ = source.type.get_strides_and_offset()
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    values = iter(operation.operands[1:])
    for offset, stride in zip(operation.attributes["static_offsets"], strides, strict=True):
        index = _index(next(values), part) if offset == dynamic else _Index(offset)
        if index is None:
            return None
        total = total.plus(index.times(stride))
    return total


def _index(value: ir.Value, part: ir.Value | None) -> _Index | None:
    """Returns the values of an index; None if it is no sum of multiples of loop counters."""
    if part is not None and value == part:
        return _Index(step=1)
    if (number := constant_integer(value)) is not None:
        return _Index(number)
    operation = producer(value)
    if operation is None:
        return _counter(value, part)
    if operation.name not in ("arith.addi", "arith.muli"):
        return None
    first, second = (_index(operand, part) for operand in operation.operands)
    if first is None or second is None:
        return None
    if operation.name == "arith.addi":
        return first.plus(second)
    first, second = sorted((first, second), key=lambda each: each != _Index(each.start))
    return second.times(first.start) if first == _Index(first.start) else None


def _counter(value: ir.Value, part: ir.Value | None) -> _Index | None:
    """Returns the values of a loop's counter, if the number of iterations is known."""
    loop = value.owner.owner
    if loop is None or loop.operation.name != "scf.for" or value != value.owner.arguments[0]:
        return None
    start, end, step = (_index(operand, part) for operand in list(loop.operands)[:3])
    if start is None or end is None or step is None or step != _Index(step.start):
        return None
    length = end.plus(start.times(-1))
    if (length.step, length.axes) != (0, ()) or length.start <= 0 or step.start <= 0:
        return None
    count = -(-length.start // step.start)
    return replace(start, axes=(*start.axes, (step.start, count)))
