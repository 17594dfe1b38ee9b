"""How much a program computes, and so how much optimizing it is worth."""

from __future__ import annotations

import math

from torch_mlir import ir

# Iterations of innermost loops in one call, for each operation, up to which optimizing takes longer
# than it saves in a few calls: LLVM's third level takes some 5 ms more for an operation, and saves
# some 5 ns of an iteration.
_LITTLE = 200_000


def optimization_level(module: ir.Module) -> int:
    """LLVM's level for a module whose linalg operations are all `linalg.generic`.

    A size that is dynamic counts as much.
    """
    total, operations = 0.0, 0

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal total, operations
        if operation.name == "linalg.generic":
            total += _iterations(operation)
            operations += 1
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
    return 0 if total <= _LITTLE * operations else 3


def _iterations(generic: ir.Operation) -> float:
    """The product of a linalg operation's loop ranges, infinite where one is not known."""
    maps = [ir.AffineMapAttr(attribute).value for attribute in generic.attributes["indexing_maps"]]
    ranges = [math.inf] * maps[0].n_dims
    for operand, indexing in zip(generic.operands, maps, strict=True):
        if not indexing.results:
            # A single element, or a scalar, which has no shape.
            continue
        shape = ir.ShapedType(operand.type)
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr) and not shape.is_dynamic_dim(axis):
                ranges[expression.position] = shape.get_dim_size(axis)
    return math.prod(ranges)
