"""Lowers `tm_tensor.scan` to a loop along one axis, with a `linalg.generic` for the others."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.ir.bodies import inline
from pipelines.ir.generics import elementwise
from pipelines.ir.loops import index, repeat, size
from pipelines.ir.slices import Slice


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
