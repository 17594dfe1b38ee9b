"""TOSA operations in a combination of types that TOSA's profiles and extensions have.

torch-mlir gathers 64-bit integers by 32-bit indices. TOSA 1.0 has 64-bit integers as an extension,
in which indices are of 64 bits too; validators, IREE's among them, refuse the mixture.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir_modules import find_operations

# The operand that holds indices.
_INDICES = {"tosa.gather": 1, "tosa.scatter": 1}


def keep_to_profile(module: ir.Module) -> None:
    """Widens the indices of gathers and scatters whose values are 64-bit integers."""
    with module.context:
        wide = ir.IntegerType.get_signless(64)
        for operation in find_operations(module, lambda operation: operation.name in _INDICES):
            place = _INDICES[operation.name]
            values, indices = operation.operands[0].type, operation.operands[place].type
            if values.element_type != wide or indices.element_type == wide:
                continue
            with ir.InsertionPoint(operation), operation.location:
                kind = ir.RankedTensorType.get(indices.shape, wide)
                cast = ir.Operation.create("tosa.cast", [kind], [operation.operands[place]])
            operation.operands[place] = cast.result
