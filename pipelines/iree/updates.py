"""Keeps programs from changing their callers' arguments in place.

An operation that returns a changed tensor, such as `tensor.insert_slice`, works in place if IREE
finds no other use of its operand. For an argument, IREE ignores that the caller may use it, and
that it may also be returned unchanged (iree-org/iree issue 16168). A use by a barrier makes IREE
copy the tensor. State may be updated in place, which keeps the steps of a decoder fast.

In a loop, IREE also updates tensors in place that other operations of the same step read, or that
the next step reads again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer, producer_named, terminator
from pipelines.iree.barriers import barrier_before, behind_barrier

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
# Operations that update a tensor, other than control flow and calls.
_UPDATING = ("linalg.", "tensor.insert", "tm_tensor.")
# Tensors that are computed from no other tensor.
CONSTANTS = {"arith.constant", "linalg.fill", "tensor.empty"}
# Structured operations that read their first operand and write to the second.
_ONE_TO_ONE = {"linalg.broadcast", "linalg.softmax", "linalg.transpose"}


def keep_inputs(function: func.FuncOp, is_state: Sequence[bool]) -> None:
    """Preserves the arguments of an entry function that its operations update.

    Args:
        is_state: for each argument, whether it is state. State may be changed in place, unless the
            function also returns it unchanged.
    """
    end = terminator(function.entry_block)
    for argument, may_change in zip(function.arguments, is_state, strict=True):
        if not _is_updated(argument):
            continue
        returns = [use for use in _uses(argument) if _is_return(use)]
        for use in returns:
            barrier_before(use.owner.operation, use.operand_number)
        if not (returns or may_change):
            with ir.InsertionPoint(end), end.location:
                behind_barrier(argument)


def keep_loop_values(function: func.FuncOp) -> None:
    """Preserves the tensors that an operation in a loop or branch updates, if others read them."""
    entry = function.entry_block
    for operation in find_operations(function, lambda each: each.name.startswith(_UPDATING)):
        if operation.block == entry or not is_on_host(operation):
            continue
        for index, operand in enumerate(operation.operands):
            if isinstance(operand.type, ir.RankedTensorType) and _updates(operation, index):
                value = viewed(operand)
                if _is_needed(value, operation):
                    with ir.InsertionPoint.after(operation), operation.location:
                        behind_barrier(value)


def _is_needed(value: ir.Value, update: ir.Operation) -> bool:
    """Returns whether an operation reads a tensor after this update, perhaps in the next step."""
    operation = producer(value)
    if operation is None:
        return value.owner != update.block or len(list(value.uses)) > 1
    # IREE computes constants again.
    return operation.name not in CONSTANTS and operation.block != update.block


def is_on_host(operation: ir.Operation) -> bool:
    """Returns whether an operation is directly in a function, or only inside of control flow."""
    parent = operation.parent.operation
    while parent.name.startswith("scf."):
        parent = parent.parent.operation
    return parent.name == "func.func"


def viewed(value: ir.Value) -> ir.Value:
    """Returns the tensor of which a value is a view, or the value itself."""
    while (view := producer_named(value, *VIEWS)) is not None:
        value = view.operands[0]
    return value


def is_slice(value: ir.Value) -> bool:
    """Returns whether a tensor is a slice of another one, perhaps in another shape."""
    while (view := producer_named(value, *VIEWS)) is not None:
        if view.name == "tensor.extract_slice":
            return True
        value = view.operands[0]
    return False


def _is_updated(value: ir.Value) -> bool:
    return isinstance(value.type, ir.RankedTensorType) and any(
        _updates(use.owner.operation, use.operand_number)
        for use in _uses(value)
        if not _is_return(use)
    )


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


def _updates(operation: ir.Operation, index: int) -> bool:
    """Returns whether an operation may update the tensor of an operand and return it."""
    if operation.name in _READERS:
        return False
    if operation.name == "tensor.insert_slice":
        return index == 1
    if operation.name in _ONE_TO_ONE:
        return index == 1
    if operation.name.startswith("linalg.") and "operandSegmentSizes" in operation.attributes:
        return index >= operation.attributes["operandSegmentSizes"][0]
    return True
