"""Clamps indices of gathers, as StableHLO specifies. IREE reads out of bounds instead."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo
from torch_mlir.dialects import arith

from pipelines.ir.generics import elementwise
from pipelines.ir.lazy_dialects import linalg
from pipelines.ir.loops import index, size
from pipelines.ir.modules import build_op
from pipelines.stablehlo.origin import foreign_operations
from pipelines.stablehlo.tensors import empty_like


def clamp_gathers(module: ir.Module) -> None:
    """Clamps the indices of gathers in other tools' programs, in place."""
    with module.context:
        for gather in foreign_operations(module, lambda each: each.name == "stablehlo.gather"):
            with ir.InsertionPoint(gather), gather.location:
                gather.operands[1] = _clamped(gather)


def as_signed(indices: ir.Value) -> ir.Value:
    """Converts unsigned indices to i64. Those that do not fit become 2^63 - 1: out of range."""
    kind = ir.RankedTensorType(indices.type)
    element = kind.element_type
    if not isinstance(element, ir.IntegerType) or not element.is_unsigned:
        return indices
    if element.width == 64:
        largest = ir.IntegerAttr.get(element, 2**63 - 1)
        scalar = ir.RankedTensorType.get([], element)
        limit = build_op(
            "stablehlo.constant", scalar, value=ir.DenseElementsAttr.get_splat(scalar, largest)
        )
        none = build_op(
            "stablehlo.constant",
            scalar,
            value=ir.DenseElementsAttr.get_splat(scalar, ir.IntegerAttr.get(element, 0)),
        )
        indices = build_op("stablehlo.clamp", kind, none, indices, limit)
    wide = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(64))
    return build_op("stablehlo.convert", wide, indices)


def _clamped(gather: ir.Operation) -> ir.Value:
    numbers = _stablehlo.GatherDimensionNumbers(gather.attributes["dimension_numbers"])
    lengths = list(ir.DenseI64ArrayAttr(gather.attributes["slice_sizes"]))
    whole, indices = gather.operands
    indices = as_signed(indices)
    kind = ir.RankedTensorType(indices.type)
    element = kind.element_type
    limits = [
        arith.SubIOp(index(size(whole, axis)), index(lengths[axis])).result
        for axis in numbers.start_index_map
    ]
    empty = empty_like(indices, element)

    def nearest(start: ir.Value, _: ir.Value) -> list[ir.Value]:
        limit = limits[0]
        if numbers.index_vector_dim < kind.rank:
            column = linalg.IndexOp(numbers.index_vector_dim).result
            for number, other in enumerate(limits[1:], 1):
                is_it = arith.CmpIOp(arith.CmpIPredicate.eq, column, index(number)).result
                limit = arith.SelectOp(is_it, other, limit).result
        place = arith.IndexCastOp(ir.IndexType.get(), start).result
        place = arith.MaxSIOp(arith.MinSIOp(place, limit).result, index(0)).result
        return [arith.IndexCastOp(element, place).result]

    return elementwise([indices], empty, nearest)
