"""Lowers modules to the form that a backend takes."""

from __future__ import annotations

from dataclasses import replace

from torch_mlir import ir
from torch_mlir.extras.fx_importer import create_mlir_tensor_type

from pipelines.backends.backend import BackendInput
from pipelines.ir.modules import copy_module, entry_function
from pipelines.lower import Changes, lower
from unmess.core.ir.literals import tensor_literal
from unmess.core.module.module import Module
from unmess.core.signature.entry_points import ENTRY

# For each stage, the operation of a literal, and the name of its attribute.
_LITERALS = {
    "linalg": ("arith.constant", "value"),
    "tosa": ("tosa.const", "values"),
    "stablehlo": ("stablehlo.constant", "value"),
    **dict.fromkeys(("raw", "torch"), ("torch.vtensor.literal", "value")),
}


def split(module: Module) -> list[Module]:
    """Returns one module for each entry point, whose entry function is called `main`."""
    if list(module.entries) == [ENTRY]:
        return [module]
    parts = []
    for entry, signature in module.entries.items():
        copy = copy_module(module.ir)
        for other in module.entries.keys() - {entry}:
            entry_function(copy, other).operation.erase()
        with copy.context:
            entry_function(copy, entry).attributes["sym_name"] = ir.StringAttr.get(ENTRY)
        parts.append(
            replace(module, ir=copy, signature=signature, entry=ENTRY, entries={ENTRY: signature})
        )
    return parts


def prepared(module: Module, wanted: BackendInput) -> Module:
    """Returns a copy of a module in the form that a backend takes.

    Raises:
        Error: the stage that failed; `usage`, if the module is past the stage that is wanted.
    """
    copy = replace(module, ir=copy_module(module.ir))
    if wanted.weights == "inline":
        copy = with_literals(copy)
    if copy.stage == wanted.stage and not wanted.passes and not wanted.upstream_only:
        return copy
    return lower(copy, wanted.stage, changes_of(wanted), upstream_only=wanted.upstream_only)


def changes_of(wanted: BackendInput) -> Changes:
    """Returns the backend's own passes, at the end of the lowering."""
    return Changes(insert_passes=[(wanted.stage, own) for own in wanted.passes])


def with_literals(module: Module) -> Module:
    """Returns a module whose arguments of kind `weight` are literals. Changes its IR in place."""
    entries = {}
    with module.ir.context, ir.Location.unknown():
        for entry, signature in module.entries.items():
            function = entry_function(module.ir, entry)
            for index, argument in reversed(list(enumerate(signature.arguments))):
                if argument.kind == "weight":
                    _replace_argument(function, index, module, argument.name)
            kept = tuple(each for each in signature.arguments if each.kind != "weight")
            entries[entry] = replace(signature, arguments=kept)
    first = next(iter(entries))
    return replace(module, entries=entries, signature=entries[first], weight_mode="inline")


def _replace_argument(function: ir.OpView, index: int, module: Module, name: str) -> None:
    """Replaces an argument of an entry function by a literal of the weight."""
    block = function.regions[0].blocks[0]
    value = block.arguments[index]
    tensor = module.weights[name]
    is_builtin = isinstance(value.type, ir.RankedTensorType)
    tensor_type = value.type if is_builtin else create_mlir_tensor_type(tensor)
    with ir.InsertionPoint.at_block_begin(block), ir.Location.name(name):
        literal = tensor_literal(tensor, tensor_type, name)
        operation, attribute = _LITERALS[module.stage]
        built = ir.Operation.create(operation, [value.type], attributes={attribute: literal})
    value.replace_all_uses_with(built.result)
    block.erase_argument(index)
    types = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [kind for number, kind in enumerate(types.inputs) if number != index]
    function.attributes["function_type"] = ir.TypeAttr.get(
        ir.FunctionType.get(inputs, types.results)
    )
    if "arg_attrs" in function.attributes:
        attributes = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        del attributes[index]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
