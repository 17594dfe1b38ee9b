"""Keeps IREE from fusing operations that it would compile to slow code together."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, tensor
from pipelines.ir.modules import build_op


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
    """Puts a barrier before an operand, which may have dynamic sizes."""
    operand = operation.operands[index]
    with ir.InsertionPoint(operation), operation.location:
        kept = behind_barrier(operand)
        operation.operands[index] = _with_sizes(kept, operand)


def _with_sizes(kept: ir.Value, place: ir.Value) -> ir.Value:
    """Returns a tensor behind a barrier, with the dynamic sizes of `place`."""
    kind = ir.RankedTensorType(kept.type)
    sizes = [
        tensor.dim(place, arith.constant(ir.IndexType.get(), axis))
        for axis in range(kind.rank)
        if kind.is_dynamic_dim(axis)
    ]
    return build_op("flow.tensor.tie_shape", kind, kept, *sizes) if sizes else kept
