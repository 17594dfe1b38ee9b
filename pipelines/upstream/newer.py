"""Removes attributes of operations that are newer than the released upstream MLIR."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations

# States that an operand is not negative. Only optimizations use it; results do not depend on it.
_NOT_NEGATIVE = "nonNeg"
_ROUNDING = "roundingmode"
_TO_NEAREST_EVEN = 0


def drop_newer_attributes(module: ir.Module) -> None:
    """Removes newer attributes that do not affect results, in place."""
    with module.context:
        for operation in find_operations(module, _has_newer):
            if _NOT_NEGATIVE in operation.attributes:
                del operation.attributes[_NOT_NEGATIVE]
            if _is_default(operation):
                del operation.attributes[_ROUNDING]


def _has_newer(operation: ir.Operation) -> bool:
    return operation.name.startswith(("arith.", "math.")) and (
        _NOT_NEGATIVE in operation.attributes or _is_default(operation)
    )


def _is_default(operation: ir.Operation) -> bool:
    if _ROUNDING not in operation.attributes:
        return False
    return ir.IntegerAttr(operation.attributes[_ROUNDING]).value == _TO_NEAREST_EVEN
