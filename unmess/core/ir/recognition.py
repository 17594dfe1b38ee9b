"""Queries about modules: the public functions, and the stage by the dialects."""

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


_VISIBILITY = "sym_visibility"


def public_functions(module: ir.Module) -> dict[str, ir.OpView]:
    """Returns the public functions by name. A function without a visibility is public."""
    return {
        ir.StringAttr(function.attributes["sym_name"]).value: function
        for function in module.body.operations
        if function.operation.name == "func.func" and _is_public(function)
    }


def _is_public(function: ir.OpView) -> bool:
    if _VISIBILITY not in function.attributes:
        return True
    return ir.StringAttr(function.attributes[_VISIBILITY]).value == "public"
