"""Lowers `tm_tensor.attention` to `linalg.generic`: two products and a softmax."""

from __future__ import annotations

import math as numbers
from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.generics import elementwise, generic
from pipelines.ir.lazy_dialects import arith, math, tensor
from pipelines.ir.loops import size
from pipelines.ir.tensor_ops import copied


def rewrite_attention(attention: ir.Operation) -> list[ir.Value]:
    """Creates softmax(query · keyᵀ / √depth + mask) · value, computed in f32 or wider.

    Rows that the mask excludes completely become 0, as in PyTorch.
    """
    query, key, value, *mask, output = attention.operands
    query_type = ir.RankedTensorType(query.type)
    rank = query_type.rank
    element = query_type.element_type
    wide = element if _width(element) >= 32 else ir.F32Type.get()
    batch = list(range(rank - 2))
    row, column, inner = rank - 2, rank - 1, rank
    sizes = [size(query, axis) for axis in range(rank - 1)] + [size(key, rank - 2)]

    scores = _filled(sizes, wide, 0.0)
    (scores,) = _product(query, key, scores, batch, (row, inner), (column, inner), wide)
    scale = _inverse_root(query, wide)
    scores = elementwise([], scores, lambda score: [arith.MulFOp(score, scale).result])
    for each in mask:
        scores = elementwise(
            [each],
            scores,
            lambda more, score: [arith.AddFOp(score, _widened(more, wide)).result],
        )
    weights = _softmax(scores, sizes, wide)
    result_sizes = [*sizes[:-1], size(value, rank - 1)]
    result = _filled(result_sizes, wide, 0.0)
    (result,) = _product(weights, value, result, batch, (row, inner), (inner, column), wide)
    if wide != element:
        result = elementwise(
            [result], output, lambda each, _: [arith.TruncFOp(element, each).result]
        )
    return [result if result.type == output.type else tensor.CastOp(output.type, result).result]


def _product(
    lhs: ir.Value,
    rhs: ir.Value,
    zeros: ir.Value,
    batch: list[int],
    lhs_axes: tuple[int, int],
    rhs_axes: tuple[int, int],
    wide: ir.Type,
) -> list[ir.Value]:
    """Creates a product of matrices; the last loop is the reduction."""
    row = len(batch)
    return generic(
        [lhs, rhs],
        [zeros],
        [[*batch, *lhs_axes], [*batch, *rhs_axes], [*batch, row, row + 1]],
        [*["parallel"] * (row + 2), "reduction"],
        lambda left, right, total: [
            arith.AddFOp(
                total, arith.MulFOp(_widened(left, wide), _widened(right, wide)).result
            ).result
        ],
    )


def _softmax(scores: ir.Value, sizes: Sequence, wide: ir.Type) -> ir.Value:
    """Creates a softmax along the last axis. Rows in which all scores are -∞ become 0."""
    rank = len(sizes)
    axes = [list(range(rank)), list(range(rank - 1))]
    reduction = [*["parallel"] * (rank - 1), "reduction"]
    lowest = _constant(-numbers.inf, wide)
    (largest,) = generic(
        [scores],
        [_filled(sizes[:-1], wide, -numbers.inf)],
        axes,
        reduction,
        lambda score, so_far: [arith.MaximumFOp(score, so_far).result],
    )

    def exponential(row_largest: ir.Value, score: ir.Value) -> list[ir.Value]:
        excluded = arith.CmpFOp(arith.CmpFPredicate.OEQ, row_largest, lowest).result
        shift = arith.SelectOp(excluded, _constant(0.0, wide), row_largest).result
        return [math.ExpOp(arith.SubFOp(score, shift).result).result]

    parallel = ["parallel"] * rank
    (powers,) = generic([largest], [scores], axes[::-1], parallel, exponential)
    (totals,) = generic(
        [powers],
        [_filled(sizes[:-1], wide, 0.0)],
        axes,
        reduction,
        lambda power, so_far: [arith.AddFOp(power, so_far).result],
    )

    def divide(total: ir.Value, power: ir.Value) -> list[ir.Value]:
        zero = _constant(0.0, wide)
        empty = arith.CmpFOp(arith.CmpFPredicate.OEQ, total, zero).result
        divisor = arith.SelectOp(empty, _constant(1.0, wide), total).result
        return [arith.DivFOp(power, divisor).result]

    return generic([totals], [powers], axes[::-1], parallel, divide)[0]


def _inverse_root(query: ir.Value, wide: ir.Type) -> ir.Value:
    """Creates 1 / √(size of the last axis)."""
    depth = size(query, ir.RankedTensorType(query.type).rank - 1)
    if not isinstance(depth, ir.Value):
        return _constant(1 / numbers.sqrt(depth), wide)
    number = arith.IndexCastOp(ir.IntegerType.get_signless(64), depth).result
    root = math.SqrtOp(arith.SIToFPOp(wide, number).result).result
    return arith.DivFOp(_constant(1.0, wide), root).result


def _filled(sizes: Sequence, element: ir.Type, number: float) -> ir.Value:
    return copied("linalg.fill", sizes, _constant(number, element))


def _constant(number: float, element: ir.Type) -> ir.Value:
    return arith.ConstantOp(element, number).result


def _widened(number: ir.Value, wide: ir.Type) -> ir.Value:
    return number if number.type == wide else arith.ExtFOp(wide, number).result


def _width(element: ir.Type) -> int:
    return ir.FloatType(element).width
