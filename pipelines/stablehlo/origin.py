"""Which programs unmess has captured: their indices are checked, not clamped."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir_modules import find_operations
from unmess.core.public_functions import public_functions

# Names of arguments come with a capture.
_NAMED = "unmess."


def is_captured(operation: ir.Operation) -> bool:
    """Whether an operation is in a function that unmess has captured."""
    while operation.name != "func.func":
        operation = operation.parent.operation
    attributes = operation.attributes
    return "arg_attrs" in attributes and _NAMED in str(attributes["arg_attrs"])


def is_foreign(module: ir.Module) -> bool:
    """Whether another tool wrote a module."""
    return not any(is_captured(each.operation) for each in public_functions(module).values())


def foreign_operations(
    module: ir.Module, matches: Callable[[ir.Operation], bool]
) -> list[ir.Operation]:
    """As `find_operations`; empty for a module that unmess has captured."""
    return find_operations(module, matches) if is_foreign(module) else []
