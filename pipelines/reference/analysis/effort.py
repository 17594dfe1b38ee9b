"""How much a program computes, and so how much optimizing it is worth."""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.reference.analysis.contraction import loop_sizes

# Iterations of innermost loops in one call, for each operation, up to which optimizing takes longer
# than it saves in a few calls: LLVM's third level takes some 5 ms more for an operation, and saves
# some 5 ns of an iteration.
_LITTLE = 200_000
# Steps of a sum below which plain loops take no longer to run than vector code takes to compile.
_FEW = 1 << 18


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
    return math.prod(math.inf if size is None else size for size in loop_sizes(generic))


def deserves_schedule(generic: ir.Operation) -> bool:
    """Whether an operation computes so much that vector code of its own pays."""
    return _iterations(generic) >= _FEW
