"""Arguments that a program updates are copied first: IREE may write into them.

An operation that takes a tensor and gives back a changed one, such as `tensor.insert_slice`, works
in place where IREE sees no other use of the tensor. For an argument it does not see the caller's
(iree-org/iree issue 16168), who finds the argument changed, or an argument that is returned as well
changed there. IREE leaves a copy alone that is in the program.

State may be updated in place, which is what makes a step of a decoder cheap, unless it is returned
as it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_mlir import ir
from torch_mlir.dialects import func, tensor

# The result has the operand's elements, in its memory.
_VIEWS = {
    "tensor.bitcast",
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.reshape",
}
# What only reads its tensors.
_READERS = {"tensor.dim", "tensor.extract", "tensor.pad", "tensor.concat", "tensor.rank"}
# Structured operations that read their first operand and write to the second.
_ONE_TO_ONE = {"linalg.broadcast", "linalg.softmax", "linalg.transpose"}


def copy_updated_arguments(function: func.FuncOp, state: Iterable[int]) -> None:
    """Puts a copy of each argument that may be updated at the start of a function on tensors.

    Args:
        state: the indices of arguments that are copied only if they are returned as well. The copy
            is IREE's operation, in generic form.
    """
    state = set(state)
    for index, argument in enumerate(function.arguments):
        if not isinstance(argument.type, ir.RankedTensorType):
            continue
        uses = list(_uses(argument))
        updated = any(_updates(use) for use in uses)
        returned = any(use.owner.operation.name == "func.return" for use in uses)
        if updated and (returned or index not in state):
            _copy(function, argument)


def _uses(value: ir.Value) -> Iterator[ir.OpOperand]:
    """The uses of a tensor and of its views, but for those that make the views."""
    for use in value.uses:
        operation = use.owner.operation
        if operation.name in _VIEWS and use.operand_number == 0:
            yield from _uses(operation.results[0])
        else:
            yield use


def _updates(use: ir.OpOperand) -> bool:
    """Whether the operation may give back the operand's tensor, changed."""
    operation = use.owner.operation
    if operation.name in _READERS or operation.name == "func.return":
        return False
    if operation.name == "tensor.insert_slice":
        return use.operand_number == 1
    if operation.name in _ONE_TO_ONE:
        return use.operand_number == 1
    if operation.name.startswith("linalg.") and "operandSegmentSizes" in operation.attributes:
        return use.operand_number >= operation.attributes["operandSegmentSizes"][0]
    return True


def _copy(function: func.FuncOp, argument: ir.Value) -> None:
    with ir.InsertionPoint.at_block_begin(function.entry_block), function.location:
        kind = ir.RankedTensorType(argument.type)
        index = ir.IndexType.get()
        sizes = []
        for axis in range(kind.rank):
            if kind.is_dynamic_dim(axis):
                place = ir.Operation.create(
                    "arith.constant",
                    results=[index],
                    attributes={"value": ir.IntegerAttr.get(index, axis)},
                )
                sizes.append(tensor.DimOp(argument, place.result).result)
        copy = ir.Operation.create(
            "flow.tensor.clone", results=[argument.type], operands=[argument, *sizes]
        )
        keep = [copy, *(size.owner.operation for size in sizes)]
    argument.replace_all_uses_except(copy.result, keep)
