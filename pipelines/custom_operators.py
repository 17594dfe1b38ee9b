"""Handles operators that torch-mlir does not know. They keep their names, and have no lowering."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_OPERATOR = "torch.operator"
# The first pass of the pipeline to `torch` converts these.
_QUANTIZED = "torch.quantized_decomposed."
_INTEGERS = "unmess."
# PyTorch's own operators. The passes report those that the torch dialect does not have.
_KNOWN = ("torch.aten.", "torch.prims.", _QUANTIZED)


def is_custom(name: str) -> bool:
    """Returns whether an operator, `torch.mylib.foo`, is not of PyTorch's own libraries."""
    return not name.startswith(_KNOWN)


def is_of_integers(name: str) -> bool:
    """Returns whether an operator, `unmess.rescale`, is one of `pipelines.integers`."""
    return name.startswith(_INTEGERS)


def is_not_quantized(name: str) -> bool:
    """Returns whether no pass converts an unknown operator to one of the torch dialect."""
    return not name.startswith(_QUANTIZED)


@contextlib.contextmanager
def set_aside(module: ir.Module, chosen: Callable[[str], bool] = is_custom) -> Iterator[None]:
    """Replaces custom operators with calls of functions without a body, inside the block.

    The passes to the backend contract reject unknown operators, but accept calls.

    Args:
        chosen: returns, by its name, whether to replace an operator that the torch dialect does
            not have.
    """
    declared: dict[str, str] = {}
    with module.context:
        for operation in custom_operators(module, chosen):
            _call_in_place_of(operation, module, declared)
    try:
        yield
    finally:
        with module.context:
            _put_back(module, declared)


def custom_operators(
    module: ir.Module, chosen: Callable[[str], bool] = is_custom
) -> list[ir.Operation]:
    """Returns the `torch.operator` operations that are `chosen`, by default custom ones."""
    return find_operations(module, lambda each: each.name == _OPERATOR and chosen(_name(each)))


def refuse(module: ir.Module, stage: str) -> None:
    """Raises an Error under `stage` that names the custom operators, if there are any."""
    found = [each for each in custom_operators(module) if not is_of_integers(spelled(each))]
    if not found:
        return
    names = list(dict.fromkeys(spelled(operation) for operation in found))
    lines = [line for operation in found if (line := location_line(operation.location))]
    raise Error(
        stage,
        f"no lowering for {', '.join(names)}: custom operators need a decomposition",
        where=lines[0] if lines else None,
        hint="decorate a function of the operator's arguments with "
        f"@unmess.decomposition(torch.ops.{names[0]})",
    )


def spelled(operation: ir.Operation) -> str:
    """Returns the operator's name under `torch.ops`, such as `mylib.foo.default`."""
    name = _name(operation).removeprefix("torch.")
    return name if name.count(".") > 1 else f"{name}.default"


def _name(operation: ir.Operation) -> str:
    return ir.StringAttr(operation.attributes["name"]).value


def _call_in_place_of(operation: ir.Operation, module: ir.Module, declared: dict[str, str]) -> None:
    """Replaces an operator with a call of a new declaration, because types differ between calls."""
    symbol = f"unmess.custom_operator.{len(declared)}"
    declared[symbol] = _name(operation)
    types = ir.FunctionType.get(
        [operand.type for operand in operation.operands],
        [result.type for result in operation.results],
    )
    with operation.location:
        ir.Operation.create(
            "func.func",
            regions=1,
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "function_type": ir.TypeAttr.get(types),
                "sym_visibility": ir.StringAttr.get("private"),
            },
            ip=ir.InsertionPoint(module.body),
        )
        _replace(operation, "func.call", {"callee": ir.FlatSymbolRefAttr.get(symbol)})


def _put_back(module: ir.Module, declared: dict[str, str]) -> None:
    for call in find_operations(module, lambda operation: operation.name == "func.call"):
        symbol = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
        if symbol in declared:
            with call.location:
                _replace(call, _OPERATOR, {"name": ir.StringAttr.get(declared[symbol])})
    for function in list(module.body.operations):
        symbol = function.operation.attributes
        if "sym_name" in symbol and ir.StringAttr(symbol["sym_name"]).value in declared:
            function.operation.erase()


def _replace(operation: ir.Operation, name: str, attributes: dict[str, ir.Attribute]) -> None:
    new = ir.Operation.create(
        name,
        [result.type for result in operation.results],
        list(operation.operands),
        attributes,
        ip=ir.InsertionPoint(operation),
    )
    for old, result in zip(operation.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    operation.erase()
