"""Which stage a module is at, by its dialects."""

from __future__ import annotations

from torch_mlir import ir

# A module is at the stage of the first of these that it has operations of.
_DIALECTS = {"torch": "torch", "tosa": "tosa", "stablehlo": "stablehlo", "chlo": "stablehlo"}


def stage_of(module: ir.Module) -> str:
    """`torch`, `tosa` or `stablehlo` by the operations in it, else `linalg`."""
    found = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.add(operation.name.split(".")[0])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return next((stage for dialect, stage in _DIALECTS.items() if dialect in found), "linalg")
