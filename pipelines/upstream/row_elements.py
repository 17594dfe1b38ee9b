"""Creates operations on elements of rows that a sort permutes alike."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.generics import inline
from pipelines.ir.lazy_dialects import arith, tensor
from pipelines.ir.loops import Size, index


def axis_of(sort: ir.Operation) -> int:
    """Returns the sorted axis of a `tm_tensor.sort`."""
    return ir.IntegerAttr(sort.attributes["dimension"]).value


def elements_at(rows: Sequence[ir.Value], place: ir.Value) -> list[ir.Value]:
    """Returns the element of each row at a place."""
    return [tensor.ExtractOp(row, [place]).result for row in rows]


def put_at(
    rows: Sequence[ir.Value], elements: Sequence[ir.Value], place: ir.Value
) -> list[ir.Value]:
    """Returns the rows with other elements at a place."""
    pairs = zip(elements, rows, strict=True)
    return [tensor.InsertOp(each, row, [place]).result for each, row in pairs]


def are_in_order(body: ir.Block, left: Sequence[ir.Value], right: Sequence[ir.Value]) -> Scalar:
    """Returns whether elements may stay in front of others, by the body of a sort."""
    pairs = zip(left, right, strict=True)
    return Scalar(*inline(body, [each for pair in pairs for each in pair]))


def least(number: Size, limit: Size) -> Size:
    """Returns the smaller one of two sizes."""
    if isinstance(number, int) and isinstance(limit, int):
        return min(number, limit)
    return arith.MinSIOp(index(number), index(limit)).result


def as_number(condition: Scalar) -> Scalar:
    """Returns 1, of type index, if a condition holds, else 0."""
    # xDSL does not have `arith.index_castui`.
    wide = arith.ExtUIOp(ir.IntegerType.get_signless(64), condition.value).result
    return Scalar(arith.IndexCastOp(ir.IndexType.get(), wide).result)
