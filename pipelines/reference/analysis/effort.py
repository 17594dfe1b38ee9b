"""Estimates the work of a program, to decide how much to optimize it."""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.contraction import loop_sizes

# Average number of innermost iterations per operation and call up to which optimization takes
# longer than it saves in a few calls. LLVM's level 3 takes about 5 ms more for an operation, and
# saves about 5 ns in an iteration.
_LITTLE = 200_000
# Iterations below which plain loops take no longer to run than vector code takes to compile.
_FEW = 1 << 18


def optimization_level(module: ir.Module) -> int:
    """Returns LLVM's optimization level for a module whose linalg operations are all generic.

    Dynamic sizes count as infinite.
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
    """Returns the product of a linalg operation's loop ranges; infinity if one is unknown."""
    return math.prod(math.inf if size is None else size for size in loop_sizes(generic))


def deserves_schedule(generic: ir.Operation) -> bool:
    """Returns whether an operation is large enough for vector code of its own."""
    return _iterations(generic) >= _FEW
