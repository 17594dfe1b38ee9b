"""Moves the operations of modules of the model to private functions with their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.modules import entry_function, find_operations, replace_operands
from pipelines.ir.values import producer
from unmess.core.errors.error import Error
from unmess.core.ir.layer import location_layer
from unmess.core.module.module import Module
from unmess.core.options.names import did_you_mean

# The maximum number of names in a hint.
_SHOWN = 8


def outline_layers(module: Module, names: Sequence[str]) -> None:
    """Moves operations of the entry functions to private functions, in place.

    Each run of consecutive operations from one layer becomes a function. If a layer has several,
    because the model calls it several times or other operations are between its own, the names of
    the further ones end in `_1`, `_2`, …

    Args:
        names: the paths of layers, such as `layer1.0`. An operation belongs to the first of them
            that contains it.

    Raises:
        Error: stage `usage`; no operation is from one of the layers.
    """
    functions = [entry_function(module.ir, name) for name in module.entries]
    found: set[str] = set()
    for function in functions:
        for operation in function.regions[0].blocks[0].operations:
            path = _path(operation.operation)
            found.update(".".join(path.split(".")[:end]) for end in range(1, path.count(".") + 2))
    found.discard("")
    for name in names:
        if name not in found:
            raise _unknown(name, found)
    taken = {ir.StringAttr(each.attributes["sym_name"]).value for each in module.ir.body.operations}
    with module.ir.context, ir.Location.unknown():
        for function in functions:
            for name, run in _runs(function.regions[0].blocks[0], names):
                _outline(function, _unique(name, taken), run)


def _unknown(name: str, found: set[str]) -> Error:
    listed = sorted(found, key=lambda path: (path.count("."), path))
    more = ", …" if len(listed) > _SHOWN else ""
    return Error(
        "usage",
        f"no operation of the program is from a module {name!r}",
        hint=did_you_mean(
            name,
            listed,
            f"its modules are {', '.join(listed[:_SHOWN])}{more}"
            if listed
            else "the program has no names of modules: write the file with locations",
        ),
    )


def _path(operation: ir.Operation) -> str:
    layer = location_layer(operation.location)
    return "" if layer is None else layer.path


def _runs(block: ir.Block, names: Sequence[str]) -> list[tuple[str, list[ir.Operation]]]:
    """Returns the consecutive operations of each layer. Constants do not end a run."""
    runs: list[tuple[str, list[ir.Operation]]] = []
    last = None
    for view in list(block.operations)[:-1]:
        operation = view.operation
        if _is_constant(operation):
            continue
        path = _path(operation)
        owner = next((name for name in names if f"{path}.".startswith(f"{name}.")), None)
        if owner is not None and owner == last:
            runs[-1][1].append(operation)
        elif owner is not None:
            runs.append((owner, [operation]))
        last = owner
    return runs


def _is_constant(operation: ir.Operation) -> bool:
    return operation.name == "arith.constant"


def _unique(name: str, taken: set[str]) -> str:
    stem = re.sub(r"\W", "_", name)
    unique, number = stem, 1
    while unique in taken:
        unique, number = f"{stem}_{number}", number + 1
    taken.add(unique)
    return unique


def _outline(function: ir.OpView, name: str, run: list[ir.Operation]) -> None:
    """Replaces operations by a call of a new function that has them."""
    moved = set(run)

    def within(operation: ir.Operation) -> bool:
        return _in_entry_block(operation) in moved

    inputs, constants = _operands(run, within)
    outputs = [
        result
        for operation in run
        for result in operation.results
        if any(not within(use.owner.operation) for use in result.uses)
    ]
    kind = ir.FunctionType.get([value.type for value in inputs], [v.type for v in outputs])
    with ir.InsertionPoint(function), run[0].location:
        outlined = ir.Operation.create(
            "func.func",
            attributes={
                "sym_name": ir.StringAttr.get(name),
                "function_type": ir.TypeAttr.get(kind),
                "sym_visibility": ir.StringAttr.get("private"),
            },
            regions=1,
        )
        body = outlined.regions[0].blocks.append(
            *kind.inputs, arg_locs=[ir.Location.unknown()] * len(inputs)
        )
    with ir.InsertionPoint(run[0]), run[0].location:
        call = ir.Operation.create(
            "func.call",
            kind.results,
            inputs,
            attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
        )
    with ir.InsertionPoint(body):
        copies = [constant.clone() for constant in constants]
    for value, result in zip(outputs, call.results, strict=True):
        value.replace_all_uses_with(result)
    new = {
        **dict(zip(call.results, outputs, strict=True)),
        **dict(zip(inputs, body.arguments, strict=True)),
        **{old.results[0]: copy.results[0] for old, copy in zip(constants, copies, strict=True)},
    }
    for operation in run:
        replace_operands(operation, new)
    for operation in run:
        body.append(operation)
    with ir.InsertionPoint(body), run[-1].location:
        ir.Operation.create("func.return", operands=outputs)


def _in_entry_block(operation: ir.Operation) -> ir.Operation:
    """Returns the operation in the entry function's own block that contains an operation."""
    while operation.parent is not None and operation.parent.operation.name != "func.func":
        operation = operation.parent.operation
    return operation


def _operands(
    run: list[ir.Operation], within: Callable[[ir.Operation], bool]
) -> tuple[list[ir.Value], list[ir.Operation]]:
    """Returns the values that operations use and do not compute, and the constants among these."""
    inputs: dict[ir.Value, None] = {}
    constants: dict[ir.Operation, None] = {}
    inside = (each for operation in run for each in find_operations(operation, lambda _: True))
    for operand in (operand for each in inside for operand in each.operands):
        operation = producer(operand)
        if operation is None:
            if operand.owner.owner.operation.name == "func.func":
                inputs[operand] = None
        elif not within(operation):
            if _is_constant(operation):
                constants[operation] = None
            else:
                inputs[operand] = None
    return list(inputs), list(constants)
