"""Checks tensors of indices of scatters and gathers, which have a column for each indexed axis."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.indices.flags import OUT_OF_RANGE, require_everywhere, require_valid_index
from pipelines.indices.values import Size, compare, number, size_of, size_value
from pipelines.ir import tensor_ops
from pipelines.ir.lazy_dialects import arith


def limits(scatter: ir.Operation) -> list[int] | None:
    """Returns the number of valid starts for each column of the indices of a `tm_tensor.scatter`.

    Returns None if a size is dynamic.
    """
    found = []
    for size, length in _sizes(scatter):
        if not isinstance(size, int) or not isinstance(length, int):
            return None
        found.append(max(size - length + 1, 0))
    return found


def _sizes(scatter: ir.Operation) -> list[tuple[Size, Size]]:
    """Returns for each column of the indices the size of its axis, and the length of an update."""
    updates, _, original = scatter.operands
    rank = original.type.rank
    # The axes of an update: the last axes of the original.
    window = list(range(rank + 1 - updates.type.rank, rank))
    return [
        (
            size_of(original, axis),
            size_of(updates, 1 + window.index(axis)) if axis in window else 1,
        )
        for axis in ir.DenseI64ArrayAttr(scatter.attributes["dimension_map"])
    ]


def _bound(size: Size, length: Size, type: ir.Type) -> ir.Value:
    """Creates the number of valid starts as a value."""
    if length == 1:
        return size_value(size, type)
    size, length = size_value(size, type), size_value(length, type)
    places = arith.AddIOp(arith.SubIOp(size, length).result, number(1, type)).result
    return arith.MaxSIOp(places, number(0, type)).result


def check_scatter(scatter: ir.Operation) -> None:
    """Asserts that the updates are inside of the original; indices out of range become 0."""
    check_columns(scatter, _sizes(scatter), 1)


def check_columns(
    operation: ir.Operation, sizes: Sequence[tuple[Size, Size]], columns: int | None
) -> None:
    """Asserts that indices, the second operand, are in range; others become 0.

    Args:
        sizes: for each column, the size of its axis, and the length of the accessed window.
        columns: the axis of the indices that has the columns; None for a single column.
    """
    indices = operation.operands[1]
    type, rank = indices.type.element_type, indices.type.rank
    bounds = [_bound(size, length, type) for size, length in sizes]

    def is_inside(index: ir.Value) -> ir.Value:
        limit = bounds[0]
        for column, bound in enumerate(bounds[1:], 1):
            here = arith.IndexCastOp(type, _counter(columns)).result
            is_here = compare(arith.CmpIPredicate.eq, here, number(column, type))
            limit = arith.SelectOp(is_here, bound, limit).result
        return compare(arith.CmpIPredicate.ult, index, limit)

    def clamped(index: ir.Value) -> ir.Value:
        return arith.SelectOp(is_inside(index), index, number(0, type)).result

    loops = ir.AffineMap.get_identity(rank)
    steps = [size_of(indices, axis) for axis in range(rank)]
    for bound in bounds:
        require_valid_index(bound, steps)
    require_everywhere(
        steps,
        [(indices, loops)],
        lambda elements: [is_inside(elements[0])],
        OUT_OF_RANGE,
    )
    every = tensor_ops.sizes_of(indices)
    operation.operands[1] = tensor_ops.elementwise(every, [(indices, list(loops.results))], clamped)


def _counter(loop: int) -> ir.Value:
    axis = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)
    return ir.Operation.create("linalg.index", [ir.IndexType.get()], [], {"dim": axis}).result
