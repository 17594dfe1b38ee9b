"""Weights in the IR as IREE parameters: named, and absent from the compiled module."""

from __future__ import annotations

from collections.abc import Mapping

from torch_mlir import ir
from torch_mlir.dialects import func

from pipelines.ir_modules import copy_module, entry_function
from pipelines.iree.updates import keep_inputs
from unmess.core.module import STRICT_SIZES, Module
from unmess.core.signature import Argument

SCOPE = "model"


def with_parameters(module: Module, attributes: Mapping[str, str] | None = None) -> ir.Module:
    """The module's IR as IREE takes it: weights are globals, and entry functions take the rest.

    An entry function becomes private, and a public one of its name loads the globals and calls it.
    Inputs that are updated are kept (`updates.py`).
    The result holds IREE's operations in generic form, which torch-mlir's context does not know.

    Args:
        attributes: to be given to the module, as MLIR spells them.
    """
    copy = copy_module(module.ir)
    copy.context.allow_unregistered_dialects = True
    with copy.context, ir.Location.unknown():
        for name, text in (attributes or {}).items():
            copy.operation.attributes[name] = ir.Attribute.parse(text)
        parameters = _Parameters()
        # Each goes to the start of the module, so the last one first.
        for entry, signature in reversed(module.entries.items()):
            inner = entry_function(copy, entry)
            # These are for unmess and torch-mlir; IREE has no use for them.
            inner.arg_attrs = [ir.DictAttr.get({}) for _ in signature.arguments]
            if STRICT_SIZES in inner.attributes:
                del inner.attributes[STRICT_SIZES]
            keep_inputs(inner, [a.kind == "state" for a in signature.arguments])
            if signature.of_kind("weight"):
                _wrap(copy, inner, entry, signature.arguments, parameters)
        parameters.declare(copy)
    return copy


def _wrap(
    module: ir.Module,
    inner: func.FuncOp,
    entry: str,
    arguments: tuple[Argument, ...],
    parameters: _Parameters,
) -> None:
    operand_types, result_types = inner.type.inputs, inner.type.results
    inner_name = f"{entry}$weights"
    inner.attributes["sym_name"] = ir.StringAttr.get(inner_name)
    inner.attributes["sym_visibility"] = ir.StringAttr.get("private")
    outer_types = [
        kind
        for kind, argument in zip(operand_types, arguments, strict=True)
        if argument.kind != "weight"
    ]
    at_start = ir.InsertionPoint.at_block_begin(module.body)
    outer = func.FuncOp(entry, (outer_types, result_types), ip=at_start)
    block = outer.add_entry_block()
    given = iter(block.arguments)
    with ir.InsertionPoint(block):
        operands = [
            parameters.load(argument.name, kind) if argument.kind == "weight" else next(given)
            for kind, argument in zip(operand_types, arguments, strict=True)
        ]
        func.ReturnOp(func.CallOp(result_types, inner_name, operands).results)


class _Parameters:
    """The globals of a module's weights, which its entry functions share."""

    def __init__(self) -> None:
        self._types: dict[str, ir.Type] = {}

    def load(self, name: str, kind: ir.Type) -> ir.Value:
        """Loads a weight at the current insertion point."""
        self._types[name] = kind
        load = ir.Operation.create(
            "util.global.load",
            results=[kind],
            attributes={"global": ir.FlatSymbolRefAttr.get(_symbol(name))},
        )
        return load.result

    def declare(self, module: ir.Module) -> None:
        """Puts a global for each weight that was loaded at the start of the module."""
        with ir.InsertionPoint.at_block_begin(module.body):
            for name, kind in self._types.items():
                escaped = name.replace("\\", "\\\\").replace('"', '\\"')
                ir.Operation.create(
                    "util.global",
                    attributes={
                        "sym_name": ir.StringAttr.get(_symbol(name)),
                        "sym_visibility": ir.StringAttr.get("private"),
                        "type": ir.TypeAttr.get(kind),
                        "initial_value": ir.Attribute.parse(
                            f'#flow.parameter.named<"{SCOPE}"::"{escaped}"> : {kind}'
                        ),
                    },
                )


def _symbol(weight: str) -> str:
    return f"unmess.{weight}"
