"""Turns weights into IREE parameters: named, and not part of the compiled module."""

from __future__ import annotations

from collections.abc import Mapping

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import copy_module, entry_function
from pipelines.iree.loops import rewrite_loops
from pipelines.iree.updates import keep_inputs
from unmess.core.module.module import STRICT_SIZES, Module
from unmess.core.signature.signature import Argument

SCOPE = "model"


def with_parameters(module: Module, attributes: Mapping[str, str] | None = None) -> ir.Module:
    """Returns a copy of the module's IR for IREE, with weights as globals instead of arguments.

    Each entry function becomes private. A public function of its name loads the globals and calls
    it. Inputs that are updated are preserved (`updates.py`).
    The result contains IREE's operations in generic form, because torch-mlir's context does not
    register them.

    Args:
        attributes: attributes to set on the module, in MLIR's syntax.
    """
    copy = copy_module(module.ir)
    copy.context.allow_unregistered_dialects = True
    with copy.context, ir.Location.unknown():
        for name, text in (attributes or {}).items():
            copy.operation.attributes[name] = ir.Attribute.parse(text)
        parameters = _Parameters()
        # Last to first, because each function is inserted at the start of the module.
        for entry, signature in reversed(module.entries.items()):
            inner = entry_function(copy, entry)
            # Only unmess and torch-mlir use these attributes.
            inner.arg_attrs = [ir.DictAttr.get({}) for _ in signature.arguments]
            if STRICT_SIZES in inner.attributes:
                del inner.attributes[STRICT_SIZES]
            keep_inputs(inner, [a.kind == "state" for a in signature.arguments])
            rewrite_loops(inner)
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
    """The globals for a module's weights, which its entry functions share."""

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
        """Inserts, at the start of the module, a global for each weight that was loaded."""
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
