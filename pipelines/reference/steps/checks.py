"""Inserts run-time checks against undefined behavior: of divisors, indices and sizes.

Conditions that provably hold are not checked: a division by a constant, an index in the range of
its axis, the same size twice. Programs without integer division and without data-dependent indices
or sizes get no checks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from torch_mlir import ir

from pipelines.indices.accesses import FIRST_INDEX, SLICES, unproved
from pipelines.indices.flags import OUT_OF_RANGE
from pipelines.indices.slices import OUTSIDE, slice_axes
from pipelines.indices.values import Size, all_of, compare, number, size_of, size_value
from pipelines.ir.contraction import indexing_maps
from pipelines.ir.lazy_dialects import arith, cf
from pipelines.ir.modules import find_operations
from pipelines.ir.values import constant_integer

# Signed divisions, which may trap for a divisor of -1, and whether that divisor negates the result.
_SIGNED = {
    "arith.divsi": True,
    "arith.floordivsi": True,
    "arith.ceildivsi": True,
    "arith.remsi": False,
}
_UNSIGNED = ("arith.divui", "arith.remui", "arith.ceildivui")
# Above every address, and far enough below 2**64 that rounding up an allocation does not overflow.
_MOST_BYTES = 2.0**62


def insert_checks(module: ir.Module) -> None:
    """Puts a `cf.assert` before each operation that may fail. Call after bufferization."""
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
        # As an unsigned number, a negative one is large.
        inside = compare(arith.CmpIPredicate.ult, access.operands[first + axis], size)
        _require(inside, OUT_OF_RANGE)


def _check_slice(operation: ir.Operation, axes: list[int]) -> None:
    every = slice_axes(operation)
    for axis in axes:
        _require(every[axis].is_inside(), OUTSIDE)


def _check_division(operation: ir.Operation) -> None:
    """Checks that the divisor is not 0, and replaces a division by -1.

    The lowest integer divided by -1 overflows. The replacement wraps around, as eager does.
    """
    dividend, divisor = operation.operands
    if constant_integer(divisor) not in (None, 0, -1):
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
    """Checks the product of the sizes, in floating point, because integers would wrap around."""
    if not operation.operands:
        return
    type = ir.MemRefType(operation.result.type)
    real, wide = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    known = math.prod(
        type.shape[axis] for axis in range(type.rank) if not type.is_dynamic_dim(axis)
    )
    product = arith.ConstantOp(real, float(known * _item_bytes(type.element_type))).result
    for size in operation.operands:
        # As an unsigned number, a negative size is huge.
        size = arith.UIToFPOp(real, arith.IndexCastOp(wide, size).result).result
        product = arith.MulFOp(product, size).result
    most = arith.ConstantOp(real, _MOST_BYTES).result
    fits = arith.CmpFOp(arith.CmpFPredicate.OLE, product, most).result
    _require(fits, "a size is negative or too large for any memory")


def _check_cast(operation: ir.Operation) -> None:
    source, result = operation.operands[0], operation.result
    if not isinstance(source.type, ir.MemRefType) or not isinstance(result.type, ir.MemRefType):
        return
    for axis, size in enumerate(result.type.shape):
        if not result.type.is_dynamic_dim(axis):
            _require_equal([size_of(source, axis), size])


def _check_expansion(operation: ir.Operation) -> None:
    """Checks that the sizes that an axis is split into multiply to the size of the axis."""
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
    """Checks that all axes that a loop indexes have the same size."""
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
    """Inserts a check that all sizes are equal. Skips values that are known to be the same."""
    distinct = list(dict.fromkeys(sizes))
    if len(distinct) > 1:
        first, *others = map(size_value, distinct)
        same = [compare(arith.CmpIPredicate.eq, first, other) for other in others]
        _require(all_of(*same), "sizes that must be equal differ")


def _item_bytes(type: ir.Type) -> int:
    if isinstance(type, ir.ComplexType):
        return 2 * _item_bytes(type.element_type)
    if isinstance(type, ir.IndexType):
        return 8
    return -(-type.width // 8)
