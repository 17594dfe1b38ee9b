"""Determines the stage of a module from its dialects."""

from __future__ import annotations

from torch_mlir import ir

# Dialects and their stages. The first dialect that the module uses decides.
_DIALECTS = {"torch": "torch", "tosa": "tosa", "stablehlo": "stablehlo", "chlo": "stablehlo"}


def stage_of(module: ir.Module) -> str:
    """Returns `torch`, `tosa` or `stablehlo` by the module's operations, else `linalg`."""
    found = set()

    def visit(operation: ir.Operation) -> ir.WalkResult:
        found.add(operation.name.split(".")[0])
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return next((stage for dialect, stage in _DIALECTS.items() if dialect in found), "linalg")
