"""Inlines bodies of operations."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir


def inline(body: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Copies a body to the insertion point, with these arguments.

    Returns:
        The values that its terminator yields.
    """
    known = dict(zip(body.arguments, arguments, strict=True))

    def replace(operation: ir.Operation) -> ir.WalkResult:
        for index, operand in enumerate(operation.operands):
            if operand in known:
                operation.operands[index] = known[operand]
        return ir.WalkResult.ADVANCE

    *operations, terminator = (each.operation for each in body.operations)
    for operation in operations:
        copy = operation.clone().operation
        copy.walk(replace)
        known.update(zip(operation.results, copy.results, strict=True))
    return [known.get(operand, operand) for operand in terminator.operands]
