"""Refines ranges by known comparisons, for MLIR's integer range analysis.

The analysis infers the range of `select(i < 0, i + n, i)` from the whole range of `i`. But in each
branch of a select, it is known whether the comparison holds. This module rewrites each branch to
have the narrower range.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.indices.values import constant, number, producer

_P = arith.CmpIPredicate
_INVERSE = {
    _P.eq: _P.ne,
    _P.ne: _P.eq,
    _P.slt: _P.sge,
    _P.sle: _P.sgt,
    _P.sgt: _P.sle,
    _P.sge: _P.slt,
    _P.ult: _P.uge,
    _P.ule: _P.ugt,
    _P.ugt: _P.ule,
    _P.uge: _P.ult,
}
_SWAPPED = {
    _P.eq: _P.eq,
    _P.ne: _P.ne,
    _P.slt: _P.sgt,
    _P.sle: _P.sge,
    _P.sgt: _P.slt,
    _P.sge: _P.sle,
    _P.ult: _P.ugt,
    _P.ule: _P.uge,
    _P.ugt: _P.ult,
    _P.uge: _P.ule,
}


def selection(condition: ir.Value, chosen: ir.Value, otherwise: ir.Value) -> ir.Value:
    """Creates an `arith.select` whose branches have ranges limited by the condition."""
    comparison = producer(condition)
    if comparison is not None and comparison.name == "arith.cmpi":
        predicate = _P(ir.IntegerAttr(comparison.attributes["predicate"]).value)
        left, right = comparison.operands
        chosen = _refined(chosen, predicate, left, right)
        otherwise = _refined(otherwise, _INVERSE[predicate], left, right)
    return arith.SelectOp(condition, chosen, otherwise).result


def _refined(value: ir.Value, predicate: _P, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns `value` with its range limited by `left predicate right`."""
    operation = producer(value)
    if operation is not None and operation.name in ("arith.addi", "arith.subi"):
        operands = list(operation.operands)
        refined = [_limited(operand, predicate, left, right) for operand in operands]
        if refined != operands:
            return ir.Operation.create(operation.name, [value.type], refined).result
    return _limited(value, predicate, left, right)


def _limited(value: ir.Value, predicate: _P, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns `value`, limited by the comparison if it is one of the two sides."""
    if constant(value) is not None:
        return value
    if value == left:
        return _bounded(left, predicate, right)
    return _bounded(right, _SWAPPED[predicate], left) if value == right else value


def _bounded(value: ir.Value, predicate: _P, limit: ir.Value) -> ir.Value:
    if predicate == _P.eq:
        return limit
    if predicate == _P.ne:
        return value
    one = number(1, value.type)
    # If `limit` has no neighbor, no value satisfies the comparison, and the branch is dead.
    if predicate in (_P.slt, _P.ult):
        limit = arith.SubIOp(limit, one).result
    elif predicate in (_P.sgt, _P.ugt):
        limit = arith.AddIOp(limit, one).result
    operation = {
        _P.slt: arith.MinSIOp,
        _P.sle: arith.MinSIOp,
        _P.sgt: arith.MaxSIOp,
        _P.sge: arith.MaxSIOp,
        _P.ult: arith.MinUIOp,
        _P.ule: arith.MinUIOp,
        _P.ugt: arith.MaxUIOp,
        _P.uge: arith.MaxUIOp,
    }[predicate]
    return operation(value, limit).result
