"""Alias analysis of buffers.

Without it, LLVM keeps no sum in a register. It also adds run-time alias checks to the loops that
it vectorizes, or does not vectorize them.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pipelines.ir.values import producer

# Operations whose result is a view of the same memory as their first operand.
VIEWS = (
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
    "memref.subview",
)


def are_distinct(values: Iterable[ir.Value], written: Iterable[ir.Value]) -> bool:
    """Returns whether each memory block in `written` belongs to at most one of `values`.

    No value may occur twice. Two allocations, globals or arguments count as different memory.
    Arguments may overlap, but the program writes only to state arguments, which overlap nothing.
    """
    blocks = [memory_block(value) for value in values if isinstance(value.type, ir.MemRefType)]
    changed = [memory_block(value) for value in written]
    if any(block is None for block in blocks + changed):
        return False
    return all(blocks.count(block) <= 1 for block in changed)


def memory_block(value: ir.Value) -> ir.Value | str | None:
    """Returns the allocation, argument or global that a value is a view of, if it is known."""
    value = viewed(value)
    operation = producer(value)
    if operation is not None:
        if operation.name == "memref.get_global":
            return str(operation.attributes["name"])
        return value if operation.name == "memref.alloc" else None
    block = value.owner
    is_entry = block.owner.operation.name == "func.func" and block == block.region.blocks[0]
    return value if is_entry else None


def viewed(value: ir.Value) -> ir.Value:
    """Returns the value that a view is a view of, through any number of views."""
    while (operation := producer(value)) is not None and operation.name in VIEWS:
        value = operation.operands[0]
    return value
