"""Lowers `stablehlo.gather` and `dynamic_gather` to a `linalg.generic`.

Indices are clamped, as StableHLO specifies.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith, linalg, tensor
from pipelines.ir.loops import Size, index, size
from pipelines.ir.modules import build_op
from pipelines.ir.tensor_ops import empty
from pipelines.stablehlo.sizes import assert_size, element


def lower_gather(operation: ir.Operation) -> ir.Value:
    """Lowers a gather, with start indices clamped so that each window is inside the operand."""
    numbers = _stablehlo.GatherDimensionNumbers(operation.attributes["dimension_numbers"])
    x, indices = operation.operands[0], as_signed(operation.operands[1])
    own, places = ir.RankedTensorType(x.type), ir.RankedTensorType(indices.type)
    if operation.name == "stablehlo.gather":
        lengths: list[Size] = list(ir.DenseI64ArrayAttr(operation.attributes["slice_sizes"]))
    else:
        lengths = [element(operation.operands[2], axis) for axis in range(own.rank)]
    kind = ir.RankedTensorType(operation.results[0].type)
    batch = [axis for axis in range(kind.rank) if axis not in numbers.offset_dims]
    vector = numbers.index_vector_dim
    rows = [axis for axis in range(places.rank) if axis != vector]
    single = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    window = [axis for axis in range(own.rank) if axis not in single]
    offsets = dict(zip(window, numbers.offset_dims, strict=True))
    batching = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    limits = [
        arith.SubIOp(index(size(x, axis)), index(lengths[axis])).result for axis in range(own.rank)
    ]
    for limit in limits:
        assert_size(arith.CmpIPredicate.sge, limit, 0, "a window is larger than the tensor")
    sizes: list[Size] = [0] * kind.rank
    for axis, row in zip(batch, rows, strict=True):
        sizes[axis] = size(indices, row)
    for axis, place in offsets.items():
        sizes[place] = lengths[axis] if kind.is_dynamic_dim(place) else kind.shape[place]
    output = empty(sizes, own.element_type)

    def pick(_: ir.Value) -> list[ir.Value]:
        loops = [linalg.IndexOp(axis).result for axis in range(kind.rank)]
        at = dict(zip(rows, (loops[axis] for axis in batch), strict=True))
        where = []
        for axis in range(own.rank):
            start = index(0)
            if axis in batching:
                start = at[batching[axis]]
            elif axis in numbers.start_index_map:
                column = index(list(numbers.start_index_map).index(axis))
                full = {**at, vector: column}
                start = tensor.ExtractOp(indices, [full[each] for each in range(places.rank)])
                start = arith.IndexCastOp(ir.IndexType.get(), start.result).result
                start = arith.MaxSIOp(arith.MinSIOp(start, limits[axis]).result, index(0)).result
            if axis in offsets:
                start = arith.AddIOp(start, loops[offsets[axis]]).result
            where.append(start)
        return [tensor.ExtractOp(x, where).result]

    everywhere = list(range(kind.rank))
    return generic([], [output], [everywhere], ["parallel"] * kind.rank, pick)[0]


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
