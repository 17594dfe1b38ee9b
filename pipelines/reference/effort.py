"""How much a program computes, and so how much optimizing it is worth."""

from __future__ import annotations

import math

from torch_mlir import ir

# Iterations of innermost loops in one call, up to which optimizing takes longer than it saves: for
# a small network LLVM's third level takes 2 to 3 s more, and saves 3 ms of 10.
_LITTLE = 20_000_000


def optimization_level(module: ir.Module) -> int:
    """LLVM's level for a module whose linalg operations are all `linalg.generic`.

    A size that is dynamic counts as much.
    """
    total = 0

    def visit(operation: ir.Operation) -> ir.WalkResult:
        nonlocal total
        if operation.name == "linalg.generic":
            total += _iterations(operation)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
    return 0 if total <= _LITTLE else 3


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
