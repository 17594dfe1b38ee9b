"""Places temporaries in one allocation, at offsets that are known before the program runs.

Every allocation calls malloc, which searches its lists of free memory for a large buffer. In a
profile of MobileNetV3, which has 150 short operations, malloc took 5 % of the time, with its calls
for the panels of vector code.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, memref
from pipelines.ir.modules import find_operations
from pipelines.reference.analysis.sizes import element_bytes
from pipelines.reference.steps.outlining import is_outlined

# Offsets are multiples of a cache line, like the addresses that the runtime's malloc returns.
_LINE = 64
# Bytes of a buffer above which it has its own allocation: malloc's time is then small beside the
# work, and an error about a lack of memory names the operation that needs it.
_LARGE = 16 << 20


def share_memory(module: ir.Module) -> None:
    """Replaces allocations of fixed size that are freed in the same block, in place.

    Buffers that exist at the same time do not overlap. Run this after alias analysis, for which
    two views of one allocation may overlap.
    """
    with module.context:
        for function in module.body.operations:
            if is_outlined(function):
                continue
            holders = [function.operation, *find_operations(function, lambda each: each.regions)]
            for block in [block for each in holders for region in each.regions for block in region]:
                _share(block)


@dataclass
class _Buffer:
    """An allocation of fixed size and the operation that frees it.

    Attributes:
        size: bytes, rounded up to cache lines.
        offset: its place in the shared allocation, in bytes.
    """

    allocation: ir.Operation
    free: ir.Operation
    size: int
    offset: int = 0


def _share(block: ir.Block) -> None:
    operations = [operation.operation for operation in block.operations]
    buffers = {each.allocation: each for each in map(_buffer, operations) if each is not None}
    if len(buffers) < 2:
        return
    frees = {each.free: each for each in buffers.values()}
    live: list[_Buffer] = []
    total = 0
    for operation in operations:
        if operation in frees:
            live.remove(frees[operation])
        elif operation in buffers:
            total = max(total, _place(buffers[operation], live))
    largest = max(buffers.values(), key=lambda each: each.size).allocation
    first, last = next(iter(buffers)), [each for each in operations if each in frees][-1]
    with ir.InsertionPoint(first), largest.location:
        byte = ir.IntegerType.get_signless(8)
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _LINE)
        whole = memref.AllocOp(ir.MemRefType.get([total], byte), [], [], alignment=alignment)
    for buffer in buffers.values():
        with ir.InsertionPoint(buffer.allocation), buffer.allocation.location:
            offset = arith.ConstantOp.create_index(buffer.offset).result
            result = buffer.allocation.result
            view = memref.ViewOp(result.type, whole.result, offset, [])
        result.replace_all_uses_with(view.result)
    with ir.InsertionPoint(last), last.location:
        memref.DeallocOp(whole.result)
    for buffer in buffers.values():
        buffer.free.erase()
        buffer.allocation.erase()


def _buffer(operation: ir.Operation) -> _Buffer | None:
    """Returns the buffer of an allocation that may share memory, otherwise None."""
    if operation.name != "memref.alloc" or not operation.result.type.has_static_shape:
        return None
    users = [use.owner.operation for use in operation.result.uses]
    frees = [user for user in users if user.name == "memref.dealloc"]
    if len(frees) != 1 or frees[0].block != operation.block:
        return None
    type = operation.result.type
    size = math.prod(type.shape) * element_bytes(type.element_type)
    if not 0 < size <= _LARGE:
        return None
    return _Buffer(operation, frees[0], math.ceil(size / _LINE) * _LINE)


def _place(buffer: _Buffer, live: list[_Buffer]) -> int:
    """Gives a buffer the lowest place that no live buffer has; returns where it ends."""
    position = 0
    while position < len(live) and live[position].offset < buffer.offset + buffer.size:
        buffer.offset = live[position].offset + live[position].size
        position += 1
    live.insert(position, buffer)
    return buffer.offset + buffer.size
