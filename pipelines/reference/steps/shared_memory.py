"""Places temporaries in one block of memory, at offsets that are known before the program runs.

Every allocation calls malloc, which searches its lists of free memory for a large buffer. In a
profile of MobileNetV3, which has 150 short operations, malloc took 5 % of the time, with its calls
for the panels of vector code. For entry functions, the caller provides the memory, and uses it
again in the next call (`execution/workspaces.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, memref
from pipelines.ir.modules import find_operations
from pipelines.ir.sizes import element_bytes
from pipelines.reference.steps.outlining import is_outlined
from pipelines.reference.steps.tasks import TASK

# Offsets are multiples of a cache line, like the addresses that the runtime's malloc returns.
_LINE = 64
# Bytes of a buffer above which it has its own allocation: memory that is kept between calls would
# be too much, and an error about a lack of memory names the operation that needs it.
_LARGE = 1 << 30


def share_memory(module: ir.Module, entries: Iterable[str]) -> dict[str, int]:
    """Replaces allocations of fixed size that are freed in the same block, in place.

    Buffers that exist at the same time do not overlap. Run this after alias analysis, for which
    two views of one allocation may overlap.

    Args:
        entries: functions that get a last argument with the memory for their temporaries. It is
            not needed for those in loops and branches, which have an allocation of their own.

    Returns:
        The bytes of memory that each entry function needs, by its name.
    """
    sizes = {}
    with module.context, ir.Location.unknown():
        for function in module.body.operations:
            if is_outlined(function) and TASK not in function.attributes:
                continue
            name = ir.StringAttr(function.attributes["sym_name"]).value
            if name in entries:
                sizes[name] = _take_from_caller(function)
            holders = find_operations(function, lambda operation: operation.regions)
            for block in [block for each in holders for region in each.regions for block in region]:
                _allocate_once(block)
    return sizes


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


def _take_from_caller(function: ir.OpView) -> int:
    """Adds an argument with memory for the temporaries of the function's own blocks.

    Returns:
        The size of the memory in bytes; 0 if the function does not need any, and has no argument.
    """
    blocks = function.regions[0].blocks
    plans = [_plan(block) for block in blocks]
    # No buffer exists in two of the blocks.
    size = max((size for _, size in plans), default=0)
    if not size:
        return 0
    memory = blocks[0].add_argument(_bytes(size), ir.Location.unknown())
    types = [argument.type for argument in blocks[0].arguments]
    type = ir.FunctionType.get(types, function.type.results)
    function.attributes["function_type"] = ir.TypeAttr.get(type)
    if "arg_attrs" in function.attributes:
        function.arg_attrs = [*function.arg_attrs, ir.DictAttr.get({})]
    for buffers, _ in plans:
        _replace(buffers, memory)
    return size


def _allocate_once(block: ir.Block) -> None:
    """Replaces the allocations of a block by one. Does nothing if there is at most one."""
    buffers, size = _plan(block)
    if len(buffers) < 2:
        return
    largest = max(buffers, key=lambda each: each.size).allocation
    frees = {each.free for each in buffers}
    last = [each.operation for each in block.operations if each.operation in frees][-1]
    with ir.InsertionPoint(buffers[0].allocation), largest.location:
        alignment = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _LINE)
        whole = memref.AllocOp(_bytes(size), [], [], alignment=alignment).result
    with ir.InsertionPoint(last), last.location:
        memref.DeallocOp(whole)
    _replace(buffers, whole)


def _plan(block: ir.Block) -> tuple[list[_Buffer], int]:
    """Returns the buffers of a block, in order and with their offsets, and their size in bytes."""
    operations = [operation.operation for operation in block.operations]
    buffers = {each.allocation: each for each in map(_buffer, operations) if each is not None}
    frees = {each.free: each for each in buffers.values()}
    live: list[_Buffer] = []
    size = 0
    for operation in operations:
        if operation in frees:
            live.remove(frees[operation])
        elif operation in buffers:
            size = max(size, _place(buffers[operation], live))
    return list(buffers.values()), size


def _replace(buffers: list[_Buffer], whole: ir.Value) -> None:
    """Replaces buffers by views of a memref of bytes."""
    for buffer in buffers:
        with ir.InsertionPoint(buffer.allocation), buffer.allocation.location:
            offset = arith.ConstantOp.create_index(buffer.offset).result
            view = memref.ViewOp(buffer.allocation.result.type, whole, offset, [])
        buffer.allocation.result.replace_all_uses_with(view.result)
        buffer.free.erase()
        buffer.allocation.erase()


def _bytes(count: int) -> ir.Type:
    return ir.MemRefType.get([count], ir.IntegerType.get_signless(8))


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
