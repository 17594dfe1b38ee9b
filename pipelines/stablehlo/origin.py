"""Tells programs that unmess captured, whose indices are checked, from those of other tools."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from unmess.core.ir.recognition import public_functions

# Captured programs have the names of the model's arguments as attributes.
_NAMED = "unmess."


def is_captured(operation: ir.Operation) -> bool:
    """Returns whether an operation is in a function that unmess captured."""
    while operation.name != "func.func":
        operation = operation.parent.operation
    attributes = operation.attributes
    return "arg_attrs" in attributes and _NAMED in str(attributes["arg_attrs"])


def is_foreign(module: ir.Module) -> bool:
    """Returns whether another tool wrote a module."""
    return not any(is_captured(each.operation) for each in public_functions(module).values())


def foreign_operations(
    module: ir.Module, matches: Callable[[ir.Operation], bool]
) -> list[ir.Operation]:
    """Returns `find_operations` for a module of another tool; nothing for a captured one."""
    return find_operations(module, matches) if is_foreign(module) else []
