"""Lowers slices of tensors with dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith, linalg, tensor
from pipelines.ir.loops import Size, Slice, index, size
from pipelines.ir.tensor_ops import empty_like
from pipelines.stablehlo.gather import as_signed
from pipelines.stablehlo.sizes import assert_size, element


def lower_dynamic_slice(operation: ir.Operation) -> ir.Value | None:
    """Lowers `stablehlo.dynamic_slice`, with starts clamped so that the slice is inside.

    Returns:
        The slice; None for static sizes, which the upstream pass lowers.
    """
    x, *starts = operation.operands
    if ir.RankedTensorType(x.type).has_static_shape:
        return None
    lengths: list[Size] = list(ir.DenseI64ArrayAttr(operation.attributes["slice_sizes"]))
    return _nearest(x, starts, lengths).take(x)


def lower_dynamic_update_slice(operation: ir.Operation) -> ir.Value | None:
    """Lowers `stablehlo.dynamic_update_slice` like `lower_dynamic_slice`."""
    x, part, *starts = operation.operands
    kinds = [ir.RankedTensorType(each.type) for each in (x, part)]
    if all(kind.has_static_shape for kind in kinds):
        return None
    lengths = [size(part, axis) for axis in range(kinds[1].rank)]
    return _nearest(x, starts, lengths).put(part, x)


def _nearest(x: ir.Value, starts: Sequence[ir.Value], lengths: Sequence[Size]) -> Slice:
    offsets = []
    for axis, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        limit = arith.SubIOp(index(size(x, axis)), index(length)).result
        assert_size(arith.CmpIPredicate.sge, limit, 0, "a slice is larger than the tensor")
        place = tensor.ExtractOp(as_signed(start), []).result
        place = arith.IndexCastOp(ir.IndexType.get(), place).result
        offsets.append(arith.MaxSIOp(arith.MinSIOp(place, limit).result, index(0)).result)
    return Slice(tuple(offsets), tuple(lengths), tuple(range(len(offsets))))


def lower_computed_slice(operation: ir.Operation) -> ir.Value:
    """Lowers `stablehlo.real_dynamic_slice`, and asserts that the slice is inside."""
    x, starts, limits, strides = operation.operands
    own = ir.RankedTensorType(x.type)
    offsets, sizes, steps = [], [], []
    for axis in range(own.rank):
        start, limit, step = (element(each, axis) for each in (starts, limits, strides))
        assert_size(arith.CmpIPredicate.sge, step, 1, "a stride is not positive")
        assert_size(
            arith.CmpIPredicate.sle, 0, start, "a slice begins before the start of the tensor"
        )
        assert_size(arith.CmpIPredicate.sle, start, limit, "a slice ends before its start")
        assert_size(
            arith.CmpIPredicate.sle,
            limit,
            size(x, axis),
            "a slice ends after the end of the tensor",
        )
        length = arith.SubIOp(limit, start).result
        offsets.append(start)
        sizes.append(arith.CeilDivSIOp(length, step).result)
        steps.append(step)
    mark = [ir.ShapedType.get_dynamic_size()] * own.rank
    kind = ir.RankedTensorType.get(mark, own.element_type)
    return tensor.ExtractSliceOp(kind, x, offsets, sizes, steps, mark, mark, mark).result


def lower_reverse(operation: ir.Operation) -> ir.Value | None:
    """Lowers `stablehlo.reverse`.

    Returns:
        The result; None for static sizes, which the upstream pass lowers.
    """
    (x,) = operation.operands
    kind = ir.RankedTensorType(x.type)
    if kind.has_static_shape:
        return None
    reversed_axes = list(ir.DenseI64ArrayAttr(operation.attributes["dimensions"]))
    lasts = {axis: arith.SubIOp(index(size(x, axis)), index(1)).result for axis in reversed_axes}

    def pick(_: ir.Value) -> list[ir.Value]:
        places = [linalg.IndexOp(axis).result for axis in range(kind.rank)]
        for axis, last in lasts.items():
            places[axis] = arith.SubIOp(last, places[axis]).result
        return [tensor.ExtractOp(x, places).result]

    everywhere = list(range(kind.rank))
    output = empty_like(x, kind.element_type)
    return generic([], [output], [everywhere], ["parallel"] * kind.rank, pick)[0]
