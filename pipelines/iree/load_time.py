"""Finds the values that IREE computes when it loads a program, because they depend on weights only.

IREE also packs and transposes these when it loads a program. Other values, such as the weights of a
training step, are packed and transposed in each call.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations

# Prefixes of operations that compute a tensor from their operands alone.
_PURE = ("arith.constant", "linalg.", "tensor.")


def values_at_load(module: ir.Module) -> set[ir.Value]:
    """Returns the values that depend only on constants and on weights.

    Args:
        module: `with_parameters` has replaced its weights by globals.
    """
    found = _weights(module)
    for operation in find_operations(module, lambda each: each.name.startswith(_PURE)):
        tensors = (each for each in operation.operands if isinstance(each.type, ir.ShapedType))
        if all(each in found for each in tensors):
            found.update(operation.results)
    return found


def _weights(module: ir.Module) -> set[ir.Value]:
    """Returns the arguments of private functions for which a public function loads a global."""
    functions = ir.SymbolTable(module.operation)
    found = set()
    for load in find_operations(module, lambda each: each.name == "util.global.load"):
        for use in load.result.uses:
            name = ir.FlatSymbolRefAttr(use.owner.operation.attributes["callee"]).value
            found.add(functions[name].regions[0].blocks[0].arguments[use.operand_number])
    return found
