"""The functions of a module that may be called from outside."""

from __future__ import annotations

from torch_mlir import ir

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
