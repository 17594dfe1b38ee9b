"""Keeps programs from changing their callers' arguments in place.

An operation that returns a changed tensor, such as `tensor.insert_slice`, works in place if IREE
finds no other use of its operand. For an argument, IREE ignores that the caller may use it, and
that it may also be returned unchanged (iree-org/iree issue 16168). A use by a barrier makes IREE
copy the tensor. State may be updated in place, which keeps the steps of a decoder fast.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func

# Operations whose result shares the memory of the first operand.
VIEWS = {
    "tensor.bitcast",
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract_slice",
    "tensor.reshape",
}
# Operations that only read their tensors.
_READERS = {"tensor.dim", "tensor.extract", "tensor.pad", "tensor.concat", "tensor.rank"}
# Structured operations that read their first operand and write to the second.
_ONE_TO_ONE = {"linalg.broadcast", "linalg.softmax", "linalg.transpose"}


def keep_inputs(function: func.FuncOp, is_state: Sequence[bool]) -> None:
    """Preserves the arguments of an entry function that its operations update.

    Args:
        is_state: for each argument, whether it is state. State may be changed in place, unless the
            function also returns it unchanged.
    """
    block = function.entry_block
    end = block.operations[len(block.operations) - 1]
    for argument, may_change in zip(function.arguments, is_state, strict=True):
        if not _is_updated(argument):
            continue
        returns = [use for use in _uses(argument) if _is_return(use)]
        for use in returns:
            operation = use.owner.operation
            value = operation.operands[use.operand_number]
            operation.operands[use.operand_number] = _used_at(operation, value)
        if not (returns or may_change):
            _used_at(end, argument)


def _used_at(operation: ir.Operation, value: ir.Value) -> ir.Value:
    """Returns the value after a barrier, which is inserted before the operation."""
    with ir.InsertionPoint(operation), operation.location:
        return ir.Operation.create(
            "util.optimization_barrier", results=[value.type], operands=[value]
        ).result


def _is_updated(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and any(map(_updates, _uses(value)))


def _is_return(use: ir.OpOperand) -> bool:
    return use.owner.operation.name == "func.return"


def _uses(value: ir.Value) -> Iterator[ir.OpOperand]:
    """Yields the uses of a tensor and its views, except those that create the views."""
    for use in value.uses:
        operation = use.owner.operation
        if operation.name in VIEWS and use.operand_number == 0:
            yield from _uses(operation.results[0])
        else:
            yield use


def _updates(use: ir.OpOperand) -> bool:
    """Returns whether the operation may update the operand's tensor and return it."""
    operation = use.owner.operation
    if operation.name in _READERS or _is_return(use):
        return False
    if operation.name == "tensor.insert_slice":
        return use.operand_number == 1
    if operation.name in _ONE_TO_ONE:
        return use.operand_number == 1
    if operation.name.startswith("linalg.") and "operandSegmentSizes" in operation.attributes:
        return use.operand_number >= operation.attributes["operandSegmentSizes"][0]
    return True
