"""Changes type combinations that TOSA's profiles and extensions do not have.

torch-mlir gathers 64-bit integers with 32-bit indices. TOSA 1.0's extension for 64-bit integers
requires 64-bit indices, and validators, such as IREE's, reject the mixture. TOSA also has no cast
from 64-bit integers to floats. Integers that were widened from 32 bits are narrowed again first.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations

# The position of the operand with the indices.
_INDICES = {"tosa.gather": 1, "tosa.scatter": 1}
# Operations whose result consists of elements of the first operand.
_SAME_ELEMENTS = {"tosa.reshape", "tosa.transpose", "tosa.slice", "tosa.tile", "tosa.reverse"}


def conform_to_profile(module: ir.Module) -> None:
    """Widens the indices of gathers and scatters whose values are 64-bit integers.

    Casts of widened 64-bit integers to floats go through 32-bit integers.
    """
    with module.context:
        wide = ir.IntegerType.get_signless(64)
        for cast in find_operations(module, lambda operation: operation.name == "tosa.cast"):
            operand, result = (ir.RankedTensorType(v.type) for v in (*cast.operands, *cast.results))
            to_float = isinstance(result.element_type, ir.FloatType)
            if operand.element_type == wide and to_float and _was_narrow(cast.operands[0]):
                with ir.InsertionPoint(cast), cast.location:
                    kind = ir.RankedTensorType.get(operand.shape, ir.IntegerType.get_signless(32))
                    narrow = ir.Operation.create("tosa.cast", [kind], [cast.operands[0]])
                cast.operands[0] = narrow.result
        for operation in find_operations(module, lambda operation: operation.name in _INDICES):
            place = _INDICES[operation.name]
            values, indices = operation.operands[0].type, operation.operands[place].type
            if values.element_type != wide or indices.element_type == wide:
                continue
            with ir.InsertionPoint(operation), operation.location:
                kind = ir.RankedTensorType.get(indices.shape, wide)
                cast = ir.Operation.create("tosa.cast", [kind], [operation.operands[place]])
            operation.operands[place] = cast.result


def _was_narrow(value: ir.Value) -> bool:
    """Returns whether the elements come from a tensor of integers of 32 bits or fewer."""
    while isinstance(value.owner, ir.Operation | ir.OpView):
        operation = value.owner
        if operation.name == "tosa.cast":
            source = ir.RankedTensorType(operation.operands[0].type).element_type
            return isinstance(source, ir.IntegerType) and source.width <= 32
        if operation.name not in _SAME_ELEMENTS:
            return False
        value = operation.operands[0]
    return False
