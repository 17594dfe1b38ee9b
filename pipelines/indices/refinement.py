"""Refines ranges by known comparisons, for MLIR's integer range analysis.

The analysis infers the range of `select(i < 0, i + n, i)` from the whole range of `i`. But in each
branch of a select, it is known whether the comparison holds. This module rewrites each branch to
have the narrower range.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.indices.values import number
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.values import constant_integer, producer_named

# Predicates of `arith.cmpi`.
_INVERSE = {
    "eq": "ne",
    "ne": "eq",
    "slt": "sge",
    "sle": "sgt",
    "sgt": "sle",
    "sge": "slt",
    "ult": "uge",
    "ule": "ugt",
    "ugt": "ule",
    "uge": "ult",
}
_SWAPPED = {
    "eq": "eq",
    "ne": "ne",
    "slt": "sgt",
    "sle": "sge",
    "sgt": "slt",
    "sge": "sle",
    "ult": "ugt",
    "ule": "uge",
    "ugt": "ult",
    "uge": "ule",
}


def selection(condition: ir.Value, chosen: ir.Value, otherwise: ir.Value) -> ir.Value:
    """Creates an `arith.select` whose branches have ranges limited by the condition."""
    comparison = producer_named(condition, "arith.cmpi")
    if comparison is not None:
        predicate = arith.CmpIPredicate(
            ir.IntegerAttr(comparison.attributes["predicate"]).value
        ).name
        left, right = comparison.operands
        chosen = _refined(chosen, predicate, left, right)
        otherwise = _refined(otherwise, _INVERSE[predicate], left, right)
    return arith.SelectOp(condition, chosen, otherwise).result


def _refined(value: ir.Value, predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns `value` with its range limited by `left predicate right`."""
    operation = producer_named(value, "arith.addi", "arith.subi")
    if operation is not None:
        operands = list(operation.operands)
        refined = [_limited(operand, predicate, left, right) for operand in operands]
        if refined != operands:
            return ir.Operation.create(operation.name, [value.type], refined).result
    return _limited(value, predicate, left, right)


def _limited(value: ir.Value, predicate: str, left: ir.Value, right: ir.Value) -> ir.Value:
    """Returns `value`, limited by the comparison if it is one of the two sides."""
    if constant_integer(value) is not None:
        return value
    if value == left:
        return _bounded(left, predicate, right)
    return _bounded(right, _SWAPPED[predicate], left) if value == right else value


def _bounded(value: ir.Value, predicate: str, limit: ir.Value) -> ir.Value:
    if predicate == "eq":
        return limit
    if predicate == "ne":
        return value
    one = number(1, value.type)
    # If `limit` has no neighbor, no value satisfies the comparison, and the branch is dead.
    if predicate in ("slt", "ult"):
        limit = arith.SubIOp(limit, one).result
    elif predicate in ("sgt", "ugt"):
        limit = arith.AddIOp(limit, one).result
    operation = {
        "slt": arith.MinSIOp,
        "sle": arith.MinSIOp,
        "sgt": arith.MaxSIOp,
        "sge": arith.MaxSIOp,
        "ult": arith.MinUIOp,
        "ule": arith.MinUIOp,
        "ugt": arith.MaxUIOp,
        "uge": arith.MaxUIOp,
    }[predicate]
    return operation(value, limit).result
