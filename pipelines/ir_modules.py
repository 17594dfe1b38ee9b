"""Small operations on MLIR modules that several runners need."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir


def copy_module(module: ir.Module) -> ir.Module:
    """A module to change in place. Literals share their memory with the original."""
    with module.context, ir.Location.unknown():
        copy = ir.Module.create()
        with ir.InsertionPoint(copy.body):
            for operation in module.body.operations:
                operation.operation.clone()
    return copy


def entry_function(module: ir.Module, name: str) -> ir.OpView:
    """The `func.func` called `name`.

    Raises:
        KeyError: there is none.
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
    """The operations of a module, nested ones too, in an order in which they may be erased."""
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if matches(operation):
            found.append(operation)
        return ir.WalkResult.ADVANCE

    with module.context:
        module.operation.walk(visit)
    return found


def made(
    name: str, kind: ir.Type | str, *operands: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    """The result of an operation, which is put at the current insertion point."""
    kind = ir.Type.parse(kind) if isinstance(kind, str) else kind
    return ir.Operation.create(name, [kind], operands, attributes).result
