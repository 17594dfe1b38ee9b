"""Finds the values that IREE computes when it loads a program, because they depend on weights only.

IREE also packs and transposes these when it loads a program. Other values, such as the weights of a
training step, are packed and transposed in each call.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named

# Prefixes of operations that compute a tensor of their operands alone.
_PURE = ("arith.constant", "linalg.", "tensor.")


def values_at_load(module: ir.Module) -> set[ir.Value]:
    """Returns the weights of a module with parameters, constants, and what is computed of them."""
    found: set[ir.Value] = set()
    for call in find_operations(module, lambda each: each.name == "func.call"):
        found.update(_weights(module, call))
    for operation in find_operations(module, lambda each: each.name.startswith(_PURE)):
        tensors = (each for each in operation.operands if isinstance(each.type, ir.ShapedType))
        if all(each in found for each in tensors):
            found.update(operation.results)
    return found


def _weights(module: ir.Module, call: ir.Operation) -> list[ir.Value]:
    """Returns the arguments of a function for which a caller loads weights (`parameters.py`)."""
    name = ir.FlatSymbolRefAttr(call.attributes["callee"]).value
    function = ir.SymbolTable(module.operation)[name]
    arguments = function.regions[0].blocks[0].arguments
    return [
        argument
        for argument, operand in zip(arguments, call.operands, strict=True)
        if producer_named(operand, "util.global.load") is not None
    ]
