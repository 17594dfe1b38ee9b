"""Checks at run time what would be undefined otherwise: divisors, indices, sizes.

Nothing is checked that is proved to hold: a division by a constant, an index in the range of its
axis, the same size twice. Programs without integer division and without indices or sizes that are
data have none of these checks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from torch_mlir import ir
from torch_mlir.dialects import arith, cf

from pipelines.debugging import step
from pipelines.indices.accesses import FIRST_INDEX, SLICES, unproved
from pipelines.indices.flags import OUT_OF_RANGE
from pipelines.indices.slices import OUTSIDE, parts
from pipelines.indices.values import Size, all_of, compare, constant, number, size_of, size_value
from pipelines.ir_modules import find_operations
from pipelines.reference.analysis.contraction import indexing_maps

# Signed divisions, which may trap where the divisor is -1, and whether they then change the sign.
_SIGNED = {
    "arith.divsi": True,
    "arith.floordivsi": True,
    "arith.ceildivsi": True,
    "arith.remsi": False,
}
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")
# Above every address, and so far below 2**64 that an allocation may still be rounded up.
_MOST_BYTES = 2.0**62


@step("reference-checks")
def insert_checks(module: ir.Module) -> None:
    """Puts a `cf.assert` before what may fail, in place. Call when bufferization is complete."""
    found = find_operations(module, lambda operation: operation.name in _CHECKS)
    accesses = unproved(module)
    with module.context:
        for operation, axes in accesses.items():
            with ir.InsertionPoint(operation), operation.location:
                (_check_slice if operation.name in SLICES else _check_element)(operation, axes)
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _CHECKS[operation.name](operation)


def _check_element(access: ir.Operation, axes: list[int]) -> None:
    first = FIRST_INDEX[access.name]
    for axis in axes:
        size = size_value(size_of(access.operands[first - 1], axis))
        # A negative number is a large one without a sign.
        inside = compare(arith.CmpIPredicate.ult, access.operands[first + axis], size)
        _require(inside, OUT_OF_RANGE)


def _check_slice(operation: ir.Operation, axes: list[int]) -> None:
    every = parts(operation)
    for axis in axes:
        _require(every[axis].is_inside(), OUTSIDE)


def _check_division(operation: ir.Operation) -> None:
    """A divisor of 0, and -1, by which the lowest integer cannot be divided: eager wraps around."""
    dividend, divisor = operation.operands
    if constant(divisor) not in (None, 0, -1):
        return
    zero, one = number(0, divisor.type), number(1, divisor.type)
    _require(compare(arith.CmpIPredicate.ne, divisor, zero), "ZeroDivisionError")
    if operation.name not in _SIGNED or isinstance(divisor.type, ir.IndexType):
        return
    minus_one = number(-1, divisor.type)
    is_minus_one = compare(arith.CmpIPredicate.eq, divisor, minus_one)
    operation.operands[1] = arith.SelectOp(is_minus_one, one, divisor).result
    if _SIGNED[operation.name]:
        negative = arith.SubIOp(zero, dividend).result
        with ir.InsertionPoint.after(operation):
            result = arith.SelectOp(is_minus_one, negative, operation.result)
        operation.result.replace_all_uses_except(result.result, result.operation)


def _check_allocation(operation: ir.Operation) -> None:
    """The product of the sizes, in floating point: one of integers would wrap around."""
    if not operation.operands:
        return
    type = ir.MemRefType(operation.result.type)
    real, wide = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    known = math.prod(
        type.shape[axis] for axis in range(type.rank) if not type.is_dynamic_dim(axis)
    )
    product = arith.ConstantOp(real, float(known * _item_bytes(type.element_type))).result
    for size in operation.operands:
        # A negative size is a huge one without a sign.
        size = arith.UIToFPOp(real, arith.IndexCastOp(wide, size).result).result
        product = arith.MulFOp(product, size).result
    most = arith.ConstantOp(real, _MOST_BYTES).result
    fits = arith.CmpFOp(arith.CmpFPredicate.OLE, product, most).result
    _require(fits, "a size is negative or larger than any memory")


def _check_cast(operation: ir.Operation) -> None:
    source, result = operation.operands[0], operation.result
    if not isinstance(source.type, ir.MemRefType) or not isinstance(result.type, ir.MemRefType):
        return
    for axis, size in enumerate(result.type.shape):
        if not result.type.is_dynamic_dim(axis):
            _require_equal([size_of(source, axis), size])


def _check_expansion(operation: ir.Operation) -> None:
    """The sizes that an axis is split into."""
    view = operation.opview
    for axis, group in enumerate(view.reassociation):
        parts = [size_of(operation.result, ir.IntegerAttr(each).value) for each in group]
        if len(parts) == 1:
            _require_equal([size_of(view.src, axis), parts[0]])
        elif not all(isinstance(part, int) for part in parts):
            product = functools.reduce(
                lambda left, right: arith.MulIOp(left, right).result, map(size_value, parts)
            )
            _require_equal([size_of(view.src, axis), product])


def _check_loops(generic: ir.Operation) -> None:
    """The sizes of operands that one loop goes through."""
    sizes: dict[int, list[Size]] = {}
    for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True):
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr):
                position = ir.AffineDimExpr(expression).position
                sizes.setdefault(position, []).append(size_of(operand, axis))
    for equal in sizes.values():
        _require_equal(equal)


_CHECKS: dict[str, Callable[[ir.Operation], None]] = {
    **dict.fromkeys((*_SIGNED, *_UNSIGNED), _check_division),
    "linalg.generic": _check_loops,
    "memref.alloc": _check_allocation,
    "memref.cast": _check_cast,
    "memref.expand_shape": _check_expansion,
}


def _require(condition: ir.Value, message: str) -> None:
    cf.AssertOp(condition, message)


def _require_equal(sizes: list[Size]) -> None:
    """That sizes, of which some may be the same value, are all the same number."""
    distinct = list(dict.fromkeys(sizes))
    if len(distinct) > 1:
        first, *others = map(size_value, distinct)
        same = [compare(arith.CmpIPredicate.eq, first, other) for other in others]
        _require(all_of(*same), "sizes differ that must be the same")


def _item_bytes(type: ir.Type) -> int:
    if isinstance(type, ir.ComplexType):
        return 2 * _item_bytes(type.element_type)
    if isinstance(type, ir.IndexType):
        return 8
    return -(-type.width // 8)
