"""Lowers operations with dynamic sizes to tensor operations that both runners support.

A size that does not fit fails an assertion, or the check of a slice, at run time.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch_mlir import ir

from pipelines.ir.expressions import Scalar, constant
from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import arith, linalg, tensor
from pipelines.ir.loops import index, size
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import empty, product_of, reshaped, sizes_of
from pipelines.stablehlo.gather import lower_gather
from pipelines.stablehlo.origin import is_foreign
from pipelines.stablehlo.sizes import assert_size, element, result_sizes
from pipelines.stablehlo.slices import (
    lower_computed_slice,
    lower_dynamic_slice,
    lower_dynamic_update_slice,
    lower_reverse,
)


def lower_dynamic_sizes(module: ir.Module) -> None:
    """Lowers operations with dynamic sizes, and gathers, in place.

    In programs that unmess captured, it lowers gathers of dynamic size, and those operations that a
    portable artifact has.

    Raises:
        Error: stage `linalg`, for a size that depends on values of tensors.
    """
    with module.context:
        # Lower the operations that compute sizes last: the other lowerings look for them.
        for rewrites in (_REWRITES, _SIZES):
            replace_operations(_operations(module, rewrites), _rewritten)


def _rewritten(operation: ir.Operation) -> ir.Value | None:
    result = (_REWRITES | _SIZES)[operation.name](operation)
    if result is None or result.type == operation.results[0].type:
        return result
    return tensor.CastOp(operation.results[0].type, result).result


def _operations(module: ir.Module, names: Collection[str]) -> list[ir.Operation]:
    """Returns the operations of these names that this step lowers."""
    if is_foreign(module):
        return find_operations(module, lambda each: each.name in names)
    is_portable = bool(find_operations(module, lambda each: each.name in _SIZES))
    captured = (_GATHER, *_PORTABLE) if is_portable else (_GATHER,)
    return find_operations(module, lambda each: each.name in names and each.name in captured)


def _broadcast(operation: ir.Operation) -> ir.Value:
    """Lowers a dynamic broadcast.

    Only axes of static size 1 are stretched. Other sizes must be those of the result, which is
    asserted.
    """
    x, shape = operation.operands
    kind = ir.RankedTensorType(operation.results[0].type)
    sizes = result_sizes(shape, kind)
    own = ir.RankedTensorType(x.type)
    axes = list(ir.DenseI64ArrayAttr(operation.attributes["broadcast_dimensions"]))
    for place, axis in enumerate(axes):
        if own.is_dynamic_dim(place) or own.shape[place] != 1:
            assert_size(
                arith.CmpIPredicate.eq,
                size(x, place),
                sizes[axis],
                "a dynamic size cannot be broadcast to the size of the result",
            )
    stretched = [
        place
        for place in range(own.rank)
        if not own.is_dynamic_dim(place) and own.shape[place] == 1
    ]
    if stretched:
        x, axes = (
            _without(x, stretched),
            [axis for place, axis in enumerate(axes) if place not in stretched],
        )
    everywhere = list(range(kind.rank))
    output = empty(sizes, kind.element_type)
    return generic(
        [x], [output], [axes, everywhere], ["parallel"] * kind.rank, lambda value, _: [value]
    )[0]


def _without(x: ir.Value, ones: Sequence[int]) -> ir.Value:
    """Collapses axes of size 1 into their neighbors."""
    kind = ir.RankedTensorType(x.type)
    kept = [axis for axis in range(kind.rank) if axis not in ones]
    groups: list[list[int]] = [[] for _ in kept]
    for axis in range(kind.rank):
        if groups:
            groups[max(sum(each <= axis for each in kept) - 1, 0)].append(axis)
    result = ir.RankedTensorType.get([kind.shape[axis] for axis in kept], kind.element_type)
    return build_op(
        "tensor.collapse_shape",
        result,
        x,
        reassociation=ir.Attribute.parse(str(groups)),
    )


def _iota(operation: ir.Operation) -> ir.Value:
    kind = ir.RankedTensorType(operation.results[0].type)
    axis = ir.IntegerAttr(operation.attributes["iota_dimension"]).value
    element_type = kind.element_type
    counted = element_type
    if isinstance(element_type, ir.FloatType):
        counted = ir.IntegerType.get_signless(64)
    elif element_type.is_unsigned:
        counted = ir.IntegerType.get_signless(element_type.width)
    output = empty(result_sizes(operation.operands[0], kind), counted)

    def count(_: ir.Value) -> list[ir.Value]:
        return [arith.IndexCastOp(counted, linalg.IndexOp(axis).result).result]

    everywhere = list(range(kind.rank))
    (result,) = generic([], [output], [everywhere], ["parallel"] * kind.rank, count)
    if counted == element_type:
        return result
    name = "bitcast_convert" if not isinstance(element_type, ir.FloatType) else "convert"
    whole = ir.RankedTensorType.get(ir.RankedTensorType(result.type).shape, element_type)
    return build_op(f"stablehlo.{name}", whole, result)


def _reshape(operation: ir.Operation) -> ir.Value:
    """Lowers a dynamic reshape: collapses all axes, and expands them to those of the result."""
    x, shape = operation.operands
    kind = ir.RankedTensorType(operation.results[0].type)
    sizes = result_sizes(shape, kind)
    own = ir.RankedTensorType(x.type)
    count, expected = product_of(sizes_of(x)), product_of(sizes)
    message = "a reshape changes the number of elements"
    assert_size(arith.CmpIPredicate.eq, count, expected, message)
    line = x
    if own.rank != 1:
        line = reshaped("tensor.collapse_shape", x, [count], _together(own.rank))
    if kind.rank == 1:
        return line
    return reshaped("tensor.expand_shape", line, sizes, _together(kind.rank))


def _together(rank: int) -> list[list[int]]:
    return [list(range(rank))] if rank else []


def _pad(operation: ir.Operation) -> ir.Value:
    """Lowers a dynamic pad, which pads between elements, and adds or cuts elements on each side."""
    x, value, low, high, interior = operation.operands
    own = ir.RankedTensorType(x.type)
    kind = ir.RankedTensorType(operation.results[0].type)
    lows, steps, sizes = [], [], []
    for axis in range(own.rank):
        before, after, between = (Scalar(element(each, axis)) for each in (low, high, interior))
        assert_size(arith.CmpIPredicate.sge, between.value, 0, "an interior padding is negative")
        last = Scalar(index(size(x, axis))) - 1
        whole = before + (last * (between + 1) + 1).at_least(0) + after
        assert_size(arith.CmpIPredicate.sge, whole.value, 0, "a size is negative")
        lows.append(before)
        steps.append(between + 1)
        sizes.append(whole.value)
    fill = tensor.ExtractOp(value, []).result
    output = empty(
        [
            each if kind.is_dynamic_dim(axis) else kind.shape[axis]
            for axis, each in enumerate(sizes)
        ],
        own.element_type,
    )

    def pick(_: ir.Value) -> list[ir.Value]:
        inside = constant(True, ir.IntegerType.get_signless(1))
        places = []
        for axis in range(own.rank):
            place = Scalar(linalg.IndexOp(axis).result) - lows[axis]
            quotient = Scalar(arith.FloorDivSIOp(place.value, steps[axis].value).result)
            last = Scalar(index(size(x, axis))) - 1
            is_element = (quotient * steps[axis]).equals(place)
            inside = inside & is_element & (quotient >= 0) & (quotient <= last)
            places.append(quotient.at_most(last).at_least(0).value)
        there = tensor.ExtractOp(x, places).result
        return [arith.SelectOp(inside.value, there, fill).result]

    everywhere = list(range(own.rank))
    return generic([], [output], [everywhere], ["parallel"] * own.rank, pick)[0]


def _dimension_size(operation: ir.Operation) -> ir.Value:
    axis = ir.IntegerAttr(operation.attributes["dimension"]).value
    kind = ir.RankedTensorType(operation.results[0].type)
    length = index(size(operation.operands[0], axis))
    number = arith.IndexCastOp(kind.element_type, length).result
    return build_op("tensor.from_elements", kind, number)


_GATHER = "stablehlo.dynamic_gather"
_REWRITES = {
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_iota": _iota,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.real_dynamic_slice": lower_computed_slice,
    "stablehlo.dynamic_slice": lower_dynamic_slice,
    "stablehlo.dynamic_update_slice": lower_dynamic_update_slice,
    "stablehlo.reverse": lower_reverse,
    "stablehlo.dynamic_pad": _pad,
    _GATHER: lower_gather,
    "stablehlo.gather": lower_gather,
}
_SIZES = {"stablehlo.get_dimension_size": _dimension_size}
# Operations with sizes that `portable.py` computes with StableHLO.
_PORTABLE = (
    "stablehlo.dynamic_broadcast_in_dim",
    "stablehlo.dynamic_iota",
    "stablehlo.dynamic_reshape",
    "stablehlo.get_dimension_size",
)
