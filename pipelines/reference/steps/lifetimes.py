"""Frees buffers after their last use.

MLIR frees the buffers of a block at the end of the block. In a model without control flow that is
the end of the model, so all temporaries would be alive at once.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named
from pipelines.reference.analysis.aliasing import VIEWS

_BUFFERS = (ir.MemRefType, ir.UnrankedMemRefType)


def free_after_last_use(module: ir.Module) -> None:
    """Moves each `memref.dealloc` up to the last use of its buffer, in place.

    It stays if other values may alias the buffer: results of calls, loops or branches.
    """
    frees = find_operations(module, lambda operation: operation.name == "memref.dealloc")
    with module.context:
        # Find all uses first: after a move, the next comparison of positions numbers the whole
        # block again.
        moves = [(free, last) for free in frees if (last := _last_use(free)) is not None]
        for free, last in moves:
            free.move_after(last)


def _last_use(free: ir.Operation) -> ir.Operation | None:
    """Returns the last operation in the block of `free` that uses the buffer.

    Returns None if not all uses are known.
    """
    buffer = free.operands[0]
    last = producer_named(buffer, "memref.alloc")
    if last is None:
        return None
    values = [buffer]
    while values:
        for use in values.pop().uses:
            user = use.owner.operation
            if user == free:
                continue
            if user.name in VIEWS:
                values.append(user.result)
            elif _may_pass_on(user):
                return None
            outer = _in_block(user, free.block)
            if outer is None:
                return None
            if last.is_before_in_block(outer):
                last = outer
    return last if last.block == free.block else None


def _may_pass_on(user: ir.Operation) -> bool:
    """Returns whether another value may alias the buffer after an operation that uses it."""
    return (
        user.name.endswith((".yield", ".return", ".condition"))
        or bool(list(user.successors))
        or any(isinstance(result.type, _BUFFERS) for result in user.results)
        # The buffer is freed on several paths.
        or user.name == "memref.dealloc"
    )


def _in_block(operation: ir.Operation, block: ir.Block) -> ir.Operation | None:
    """Returns the operation of the block that contains this operation, or is this operation."""
    while operation.block != block:
        operation = operation.parent
        if operation is None or operation.name == "builtin.module":
            return None
        operation = operation.operation
    return operation
