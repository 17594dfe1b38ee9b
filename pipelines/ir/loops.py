"""Creates loops that carry tensors, and index arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir
from torch_mlir.dialects import arith, scf, tensor

# A static number, or a value of type index.
Size = int | ir.Value


def size(value: ir.Value, axis: int) -> Size:
    """Returns the size of an axis; creates a `tensor.dim` if it is dynamic."""
    shape = ir.RankedTensorType(value.type)
    if not shape.is_dynamic_dim(axis):
        return shape.get_dim_size(axis)
    return tensor.DimOp(value, index(axis)).result


def index(number: Size) -> ir.Value:
    """Returns the number as a value of type index."""
    return number if isinstance(number, ir.Value) else arith.ConstantOp.create_index(number).result


def repeat(
    start: Size,
    end: Size,
    by: Size,
    carried: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Creates an `scf.for`, whose `body(place, *carried)` returns the next carried values.

    Returns:
        The final carried values.
    """
    loop = scf.ForOp(index(start), index(end), index(by), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def repeat_each(
    ends: Sequence[Size],
    carried: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Creates nested loops from 0, the last axis innermost.

    `body(places, *carried)` is like that of `repeat`.
    """

    def nested(places: list[ir.Value], carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        if len(places) == len(ends):
            return body(places, *carried)
        return repeat(
            0, ends[len(places)], 1, carried, lambda place, *inner: nested([*places, place], inner)
        )

    return list(nested([], carried))
