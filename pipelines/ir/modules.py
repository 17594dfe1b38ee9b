"""Helper functions for MLIR modules."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir


def copy_module(module: ir.Module) -> ir.Module:
    """Returns a copy of a module. Literals share their memory with the original."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        with ir.InsertionPoint(copy.body):
            for operation in module.body.operations:
                operation.operation.clone()
    return copy


def entry_function(module: ir.Module, name: str) -> ir.OpView:
    """Returns the `func.func` called `name`.

    Raises:
        KeyError: if there is none.
    """
    for operation in module.body.operations:
        if (
            operation.operation.name == "func.func"
            and ir.StringAttr(operation.attributes["sym_name"]).value == name
        ):
            return operation
    raise KeyError(name)


def find_operations(
    module: ir.Module, matches: Callable[[ir.Operation], bool]
) -> list[ir.Operation]:
    """Returns all matching operations in post-order: nested ones come first and may be erased."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if matches(operation):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
    return found


def build_op(
    name: str, kind: ir.Type | str, *operands: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    """Creates an operation at the current insertion point and returns its result."""
    kind = ir.Type.parse(kind) if isinstance(kind, str) else kind
    return ir.Operation.create(name, [kind], operands, attributes).result
