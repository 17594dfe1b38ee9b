"""Which buffers are known not to share memory.

Without that knowledge LLVM keeps no sum in a register, and checks at run time, or gives up, before
it vectorizes a loop.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

# Operations whose result is another view of what their first operand is a view of.
VIEWS = (
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.reinterpret_cast",
    "memref.subview",
)


def are_distinct(values: Iterable[ir.Value], written: Iterable[ir.Value]) -> bool:
    """Whether no two of these values, all different, share memory that is written through a view.

    Blocks are different when each was allocated in the program, is a global of its own, or is an
    argument: arguments may overlap, but only state is written, which nobody else has.
    """
    blocks = [memory_block(value) for value in values if isinstance(value.type, ir.MemRefType)]
    changed = [memory_block(value) for value in written]
    if any(block is None for block in blocks + changed):
        return False
    return all(blocks.count(block) <= 1 for block in changed)


def memory_block(value: ir.Value) -> ir.Value | str | None:
    """The allocation, argument or global that a value is a view of, if it is known."""
    while not isinstance(value.owner, ir.Block):
        operation = value.owner.operation
        if operation.name in VIEWS:
            value = operation.operands[0]
        elif operation.name == "memref.alloc":
            return value
        elif operation.name == "memref.get_global":
            return str(operation.attributes["name"])
        else:
            return None
    block = value.owner
    is_entry = block.owner.operation.name == "func.func" and block == block.region.blocks[0]
    return value if is_entry else None
