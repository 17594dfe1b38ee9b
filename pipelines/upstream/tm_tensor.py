"""Lowers `tm_tensor.scan`, `scatter` and `topk` to loops."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.generics import elementwise, inline
from pipelines.ir.lazy_dialects import arith, tensor
from pipelines.ir.loops import Slice, index, repeat, repeat_each, size


def rewrite_scan(scan: ir.Operation) -> list[ir.Value]:
    """Creates the results of a scan: the running values, and the last of them.

    An inclusive scan starts with the first element, an exclusive one with the accumulator's.
    """
    source, output, accumulator = scan.operands
    axis = ir.IntegerAttr(scan.attributes["dimension"]).value
    inclusive = ir.BoolAttr(scan.attributes["inclusive"]).value
    body = scan.regions[0].blocks[0]

    def advance(place: ir.Value, so_far: ir.Value, last: ir.Value) -> list[ir.Value]:
        # An exclusive scan reads the element before the current one.
        read = place
        if not inclusive:
            behind = arith.SubIOp(place, index(1)).result
            read = arith.MaxSIOp(behind, index(0)).result
        part = Slice.at(source, {axis: read}).take(source)
        is_first = arith.CmpIOp(arith.CmpIPredicate.eq, place, index(0)).result

        def combine(element: ir.Value, running: ir.Value) -> list[ir.Value]:
            (combined,) = inline(body, [running, element])
            first = element if inclusive else running
            return [arith.SelectOp(is_first, first, combined).result]

        current = elementwise([part], last, combine)
        return [Slice.at(so_far, {axis: place}).put(current, so_far), current]

    return repeat(0, size(source, axis), 1, [output, accumulator], advance)


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


def rewrite_topk(topk: ir.Operation) -> list[ir.Value]:
    """Creates the best values and their indices, starting from those in the outputs.

    The body returns whether its first argument is better than its second. Of equal values, the one
    with the lower index is better.
    """
    segments = list(topk.attributes["operandSegmentSizes"])
    source, *given = list(topk.operands)[: segments[0]]
    values, places = list(topk.operands)[segments[0] :]
    axis = ir.IntegerAttr(topk.attributes["dimension"]).value
    body = topk.regions[0].blocks[0]
    rank = ir.RankedTensorType(source.type).rank
    best = size(values, axis)
    number = ir.RankedTensorType(places.type).element_type

    def offer(at: list[ir.Value], values: ir.Value, places: ir.Value) -> list[ir.Value]:
        value = tensor.ExtractOp(source, at).result
        if given:
            place = tensor.ExtractOp(given[0], at).result
        else:
            place = arith.IndexCastOp(number, at[axis]).result

        def compare(
            rank: ir.Value, value: ir.Value, place: ir.Value, values: ir.Value, places: ir.Value
        ) -> list[ir.Value]:
            here = [*at[:axis], rank, *at[axis + 1 :]]
            known = tensor.ExtractOp(values, here).result
            known_place = tensor.ExtractOp(places, here).result
            (is_better,) = inline(body, [value, known])
            (is_worse,) = inline(body, [known, value])
            equal = arith.CmpIOp(arith.CmpIPredicate.eq, is_better, is_worse).result
            earlier = arith.CmpIOp(arith.CmpIPredicate.slt, place, known_place).result
            wins = arith.OrIOp(is_better, arith.AndIOp(equal, earlier).result).result
            return [
                arith.SelectOp(wins, known, value).result,
                arith.SelectOp(wins, known_place, place).result,
                tensor.InsertOp(arith.SelectOp(wins, value, known).result, values, here).result,
                tensor.InsertOp(
                    arith.SelectOp(wins, place, known_place).result, places, here
                ).result,
            ]

        return repeat(0, best, 1, [value, place, values, places], compare)[2:]

    return repeat_each([size(source, each) for each in range(rank)], [values, places], offer)
