"""Queries about the loops of a `linalg.generic` and the indices in them."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.indices.values import Size, size_of
from pipelines.ir.contraction import indexing_maps
from pipelines.ir.values import producer_named


def enclosing_generic(operation: ir.Operation) -> ir.Operation | None:
    """Returns the innermost `linalg.generic` around an operation; None if there is none."""
    parent = operation.parent
    while parent is not None and parent.operation.name != "builtin.module":
        if parent.operation.name == "linalg.generic":
            return parent.operation
        parent = parent.operation.parent
    return None


def loop_sizes(generic: ir.Operation, loop: int) -> list[Size]:
    """Returns the number of iterations of a loop, once for each operand's axis that it indexes."""
    return [
        size_of(operand, axis)
        for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True)
        for axis, expression in enumerate(indexing.results)
        if isinstance(expression, ir.AffineDimExpr)
        and ir.AffineDimExpr(expression).position == loop
    ]


def loops_in(expression: ir.AffineExpr) -> set[int]:
    """Returns the loops that an index depends on."""
    if isinstance(expression, ir.AffineDimExpr):
        return {ir.AffineDimExpr(expression).position}
    if isinstance(expression, ir.AffineBinaryExpr):
        binary = ir.AffineBinaryExpr(expression)
        return loops_in(binary.lhs) | loops_in(binary.rhs)
    return set()


def counted_by(index: ir.Value) -> int | None:
    """Returns the loop of a `linalg.index`; None for other values."""
    operation = producer_named(index, "linalg.index")
    return None if operation is None else ir.IntegerAttr(operation.attributes["dim"]).value
