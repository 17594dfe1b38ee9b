"""Barriers and copies that IREE does not fuse with the operations before and behind them."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.tensor_ops import dynamic_sizes, elementwise, sizes_of


def barrier(value: ir.Value) -> ir.Value:
    """Returns a tensor behind a barrier: its users are not fused with its operation.

    Returns a tensor of dynamic size itself: see `barrier_of_any_size`.
    """
    if not ir.RankedTensorType(value.type).has_static_shape:
        return value
    return behind_barrier(value)


def behind_barrier(value: ir.Value) -> ir.Value:
    """Returns a tensor behind a barrier. IREE does not know its dynamic sizes."""
    return build_op("util.optimization_barrier", value.type, value)


def barrier_of_any_size(operation: ir.Operation) -> None:
    """Puts a barrier behind the first result of a `linalg` operation, which may have dynamic sizes.

    IREE cannot infer the sizes behind a barrier ("'tensor.dim' op unexpected during shape
    cleanup"). They are given as those of the operation's last operand, in which it computes.
    """
    result, place = operation.results[0], operation.operands[-1]
    with ir.InsertionPoint.after(operation), operation.location:
        kept = behind_barrier(result)
        sized = _with_sizes(kept, place)
    result.replace_all_uses_except(sized, kept.owner.operation)


def barrier_before(operation: ir.Operation, index: int) -> None:
    """Puts a barrier before an operand that is only read, and may have dynamic sizes."""
    operand = operation.operands[index]
    with ir.InsertionPoint(operation), operation.location:
        operation.operands[index] = _with_sizes(behind_barrier(operand), operand)


def copy_before(operation: ir.Operation, index: int) -> None:
    """Gives an operation its own copy of an operand that it updates.

    A barrier is not enough: IREE does not know that the tensors in front of and behind a barrier
    share their memory, and other operations would read the update.
    """
    with ir.InsertionPoint(operation), operation.location:
        operation.operands[index] = own_copy(operation.operands[index])


def own_copy(value: ir.Value) -> ir.Value:
    """Returns a copy of a tensor that IREE neither folds nor merges with another copy.

    Adds a zero that IREE does not know to each element. `flow.tensor.clone` is not enough: IREE
    merges two clones of one tensor, and two sorts then update the same copy. It is enough for
    complex numbers, because no program sorts them.
    """
    sizes = sizes_of(value)
    element = ir.RankedTensorType(value.type).element_type
    if isinstance(element, ir.ComplexType):
        return build_op("flow.tensor.clone", value.type, value, *dynamic_sizes(sizes))
    is_integer = isinstance(element, (ir.IntegerType, ir.IndexType))
    # Only -0.0 leaves each floating-point number as it is.
    zero = ir.IntegerAttr.get(element, 0) if is_integer else ir.FloatAttr.get(element, -0.0)
    add = "arith.addi" if is_integer else "arith.addf"
    kind = ir.RankedTensorType.get([], element)
    known = build_op("arith.constant", kind, value=ir.DenseElementsAttr.get_splat(kind, zero))
    hidden = behind_barrier(known)
    axes = [ir.AffineDimExpr.get(axis) for axis in range(len(sizes))]
    return elementwise(
        sizes, [(value, axes), (hidden, [])], lambda *terms: build_op(add, element, *terms)
    )


def stored(value: ir.Value) -> ir.Value:
    """Returns a tensor that IREE computes in a kernel of its own."""
    sizes = dynamic_sizes(sizes_of(value))
    return build_op("iree_tensor_ext.compute_barrier.start", value.type, value, *sizes)


def _with_sizes(kept: ir.Value, place: ir.Value) -> ir.Value:
    """Returns a tensor behind a barrier, with the dynamic sizes of `place`."""
    sizes = dynamic_sizes(sizes_of(place))
    return build_op("flow.tensor.tie_shape", kept.type, kept, *sizes) if sizes else kept
