"""Plans the memory: each buffer becomes a range of one arena.

Buffers whose lives do not overlap share bytes. A buffer lives from its first use to its last one.
A use inside a loop that does not contain the buffer's allocation extends over the whole loop.
"""

import math
from dataclasses import dataclass

from torch_mlir import ir

ALIGNMENT = 64
ALLOCATIONS = ("memref.alloc", "memref.alloca")
# Operations whose result is a view of their first operand.
VIEWS = ("memref.reinterpret_cast", "memref.extract_strided_metadata", "memref.cast")
# Operations that pass buffers on. The printed code copies the buffers, so that each has one place.
CARRIERS = ("scf.for", "scf.while", "scf.if")


@dataclass(frozen=True)
class Range:
    """The bytes of one buffer: its offset in the arena, and its size."""

    offset: int
    size: int


@dataclass(frozen=True)
class Plan:
    """The memory plan.

    Attributes:
        ranges: by buffer: the result of an allocation, or the result or block argument of an
            operation in `CARRIERS`.
        size: bytes of the arena.
        total: the sum of the sizes of all buffers.
    """

    ranges: dict[ir.Value, Range]
    size: int
    total: int


@dataclass(frozen=True)
class _Life:
    buffer: ir.Value
    first: int
    last: int
    size: int


def plan_memory(function):
    """Returns the `Plan` for a function that was lowered to loops on buffers."""
    spans = {}
    _number(function.operation, spans, [0])
    lives = []
    for operation in spans:
        for buffer in _buffers(operation):
            carried = operation.name in CARRIERS
            ends = [spans[operation]] if carried else []
            ends += [spans[use] for use in _uses(buffer, operation)]
            if ends:
                first, last = min(end[0] for end in ends), max(end[1] for end in ends)
                lives.append(_Life(buffer, first, last, bytes_of(buffer.type)))
    return _place(lives)


def bytes_of(kind):
    """Returns the size of a buffer type in bytes."""
    width = 8 if isinstance(kind.element_type, ir.IndexType) else kind.element_type.width // 8
    return math.prod(kind.shape) * width


def _number(operation, spans, counter):
    """Numbers operations in program order: (own number, last number inside) by operation."""
    first = counter[0]
    counter[0] += 1
    spans[operation] = (first, first)
    for region in operation.regions:
        for block in region:
            for each in block.operations:
                _number(each.operation, spans, counter)
    spans[operation] = (first, counter[0] - 1)


def _buffers(operation):
    """Returns the buffers that an operation needs memory for."""
    if operation.name in ALLOCATIONS:
        return [operation.results[0]]
    if operation.name not in CARRIERS:
        return []
    values = list(operation.results)
    if operation.name == "scf.while":
        # The second region's arguments share the memory of the results.
        values += operation.regions[0].blocks[0].arguments
    return [each for each in values if isinstance(each.type, ir.MemRefType)]


def _uses(buffer, definition):
    """Yields the operations that use a buffer or a view of it, as seen from its definition."""
    home = definition.parent.operation
    for use in buffer.uses:
        user = use.owner.operation
        if user.name in VIEWS:
            for view in user.results:
                if isinstance(view.type, ir.MemRefType):
                    yield from _uses(view, definition)
        while user.parent.operation != home:
            # A block argument of a carrier is used inside it.
            if user == definition:
                break
            user = user.parent.operation
        yield user


def _place(lives):
    """Returns the Plan: large buffers first, each at the lowest offset free for its life."""
    ranges, placed = {}, []
    for life in sorted(lives, key=lambda each: (-each.size, each.first)):
        taken = sorted(
            (other.offset, other.offset + other.size)
            for first, last, other in placed
            if first <= life.last and life.first <= last
        )
        offset = 0
        for begin, end in taken:
            if offset + life.size <= begin:
                break
            offset = max(offset, -(-end // ALIGNMENT) * ALIGNMENT)
        ranges[life.buffer] = Range(offset, life.size)
        placed.append((life.first, life.last, ranges[life.buffer]))
    size = max((each.offset + each.size for each in ranges.values()), default=0)
    return Plan(ranges, size, sum(each.size for each in lives))
