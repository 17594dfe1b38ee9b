"""Helper functions for MLIR modules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

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
    within: ir.Module | ir.Operation | ir.OpView,
    matches: Callable[[ir.Operation], bool],
    *,
    outermost: bool = False,
) -> list[ir.Operation]:
    """Returns all matching operations in post-order: nested ones come first and may be erased.

    Args:
        within: a module, or an operation, which may match itself.
        outermost: leave out operations inside of matching ones. The others are in pre-order.
    """
    found: list[ir.Operation] = []

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if not matches(operation):
            return ir.WalkResult.ADVANCE
        found.append(operation)
        return ir.WalkResult.SKIP if outermost else ir.WalkResult.ADVANCE

    with within.context:
        order = ir.WalkOrder.PRE_ORDER if outermost else ir.WalkOrder.POST_ORDER
        within.operation.walk(visit, order)
    return found


def replace_operations(
    operations: Iterable[ir.Operation],
    rewriting: Callable[[ir.Operation], ir.Value | Sequence[ir.Value] | None],
) -> None:
    """Replaces each operation by the value or values that `rewriting` creates in its place.

    An operation for which `rewriting` returns None stays.
    """
    for operation in operations:
        with ir.InsertionPoint(operation), operation.location:
            created = rewriting(operation)
        if created is None:
            continue
        created = [created] if isinstance(created, ir.Value) else created
        for old, new in zip(operation.results, created, strict=True):
            old.replace_all_uses_with(new)
        operation.erase()


def erase_without_users(operations: Sequence[ir.Operation]) -> None:
    """Erases the operations whose results have no users. The list has operands before users."""
    for each in reversed(operations):
        if not any(list(result.uses) for result in each.operation.results):
            each.operation.erase()


def replace_operands(operation: ir.Operation, replacements: Mapping[ir.Value, ir.Value]) -> None:
    """Replaces values by others among the operands of an operation and of those inside it."""
    for each in find_operations(operation, lambda _: True):
        for index, operand in enumerate(each.operands):
            if operand in replacements:
                each.operands[index] = replacements[operand]


def build_op(
    name: str, kind: ir.Type | str, *operands: ir.Value, **attributes: ir.Attribute
) -> ir.Value:
    """Creates an operation at the current insertion point and returns its result."""
    kind = ir.Type.parse(kind) if isinstance(kind, str) else kind
    return ir.Operation.create(name, [kind], operands, attributes).result
