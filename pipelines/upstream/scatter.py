"""Lowers `tm_tensor.scatter` to a loop that applies the updates in order."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith, tensor

from pipelines.ir.bodies import inline
from pipelines.ir.generics import elementwise
from pipelines.ir.loops import index, repeat, size
from pipelines.ir.slices import Slice


def rewrite_scatter(scatter: ir.Operation) -> list[ir.Value]:
    """Creates the updated tensor. The body combines each update with the current value.

    An update is an element, or a window of the original that starts at the indices.
    """
    updates, indices, original = scatter.operands
    mapped = list(ir.DenseI64ArrayAttr(scatter.attributes["dimension_map"]))
    body = scatter.regions[0].blocks[0]
    rank = ir.RankedTensorType(original.type).rank
    # The axes of an update: the last axes of the original.
    window = tuple(range(rank + 1 - ir.RankedTensorType(updates.type).rank, rank))

    def update(place: ir.Value, so_far: ir.Value) -> list[ir.Value]:
        starts = {
            axis: _as_index(tensor.ExtractOp(indices, [place, index(column)]).result)
            for column, axis in enumerate(mapped)
        }
        if not window:
            at = [starts[axis] for axis in range(rank)]
            known = tensor.ExtractOp(so_far, at).result
            (combined,) = inline(body, [tensor.ExtractOp(updates, [place]).result, known])
            return [tensor.InsertOp(combined, so_far, at).result]
        part = Slice.at(updates, {0: place}).take(updates)
        there = Slice(
            tuple(starts.get(axis, 0) for axis in range(rank)),
            tuple(
                size(updates, 1 + window.index(axis)) if axis in window else 1
                for axis in range(rank)
            ),
            window,
        )
        known = there.take(so_far)
        combined = elementwise([part], known, lambda new, old: inline(body, [new, old]))
        return [there.put(combined, so_far)]

    return repeat(0, size(updates, 0), 1, [original], update)


def _as_index(number: ir.Value) -> ir.Value:
    if isinstance(number.type, ir.IndexType):
        return number
    return arith.IndexCastOp(ir.IndexType.get(), number).result
