"""Lowers `tm_tensor.topk` to loops that insert each element of a row into the best so far."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith, tensor

from pipelines.ir.bodies import inline
from pipelines.ir.loops import repeat, repeat_each, size


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
