"""What would be undefined when a program runs is checked: divisors, indices, sizes.

Nothing is checked that holds by construction: a division by a constant, an index that a loop
counts, a size that is part of a type or the same value twice. Programs without integer division
and without indices or sizes that are data have none of these checks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from torch_mlir import ir
from torch_mlir.dialects import arith, cf, memref

from pipelines.debugging import step
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

# The size of an axis: a number, a value of type index, or the axis of a buffer.
_Size = int | ir.Value | tuple[ir.Value, int]


@step("reference-checks")
def insert_checks(module: ir.Module) -> None:
    """Puts a `cf.assert` before what may fail, in place. Call when bufferization is complete."""
    found = find_operations(module, lambda operation: operation.name in _CHECKS)
    with module.context:
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _CHECKS[operation.name](operation)


def _check_division(operation: ir.Operation) -> None:
    """A divisor of 0, and -1, by which the lowest integer cannot be divided: eager wraps around."""
    dividend, divisor = operation.operands
    constant = _constant(divisor)
    if constant not in (None, 0, -1):
        return
    zero, one = _number(0, divisor.type), _number(1, divisor.type)
    _require(_compare(arith.CmpIPredicate.ne, divisor, zero), "ZeroDivisionError")
    if operation.name not in _SIGNED or isinstance(divisor.type, ir.IndexType):
        return
    minus_one = _number(-1, divisor.type)
    is_minus_one = _compare(arith.CmpIPredicate.eq, divisor, minus_one)
    operation.operands[1] = arith.SelectOp(is_minus_one, one, divisor).result
    if _SIGNED[operation.name]:
        negative = arith.SubIOp(zero, dividend).result
        with ir.InsertionPoint.after(operation):
            result = arith.SelectOp(is_minus_one, negative, operation.result)
        operation.result.replace_all_uses_except(result.result, result.operation)


def _check_load(operation: ir.Operation) -> None:
    buffer, *indices = operation.operands
    _check_indices(buffer, indices)


def _check_store(operation: ir.Operation) -> None:
    _, buffer, *indices = operation.operands
    _check_indices(buffer, indices)


def _check_indices(buffer: ir.Value, indices: list[ir.Value]) -> None:
    for axis, index in enumerate(indices):
        size = _size(buffer, axis)
        if not _is_inside(index, size):
            # A negative number is a large one without a sign.
            inside = _compare(arith.CmpIPredicate.ult, index, _value(size))
            _require(inside, "index out of range")


def _check_subview(operation: ir.Operation) -> None:
    view = operation.opview
    static = [list(view.static_offsets), list(view.static_sizes), list(view.static_strides)]
    dynamic = ir.ShapedType.get_dynamic_size()
    operands = iter(list(operation.operands)[1:])
    offsets, sizes, strides = (
        [next(operands) if number == dynamic else number for number in numbers]
        for numbers in static
    )
    for axis, (offset, size, stride) in enumerate(zip(offsets, sizes, strides, strict=True)):
        if not any(isinstance(each, ir.Value) and _is_data(each) for each in (offset, size)):
            continue
        # Both are below 2**63 if neither is negative, so the sum does not overflow without a sign.
        zero, limit = _value(0), _value(_size(view.source, axis))
        offset, size = _value(offset), _value(size)
        last = arith.SubIOp(size, _value(1)).result
        end = arith.AddIOp(offset, arith.MulIOp(last, _value(stride)).result).result
        empty = _compare(arith.CmpIPredicate.eq, size, zero)
        inside = _all(
            _compare(arith.CmpIPredicate.sge, offset, zero),
            _compare(arith.CmpIPredicate.ule, size, limit),
            _compare(arith.CmpIPredicate.ult, end, limit),
        )
        _require(arith.OrIOp(empty, inside).result, "slice out of range")


def _check_allocation(operation: ir.Operation) -> None:
    """The product of the sizes, in floating point: one of integers would wrap around."""
    if not operation.operands:
        return
    type = ir.MemRefType(operation.result.type)
    number, wide = ir.F64Type.get(), ir.IntegerType.get_signless(64)
    known = math.prod(
        type.shape[axis] for axis in range(type.rank) if not type.is_dynamic_dim(axis)
    )
    product = arith.ConstantOp(number, float(known * _item_bytes(type.element_type))).result
    for size in operation.operands:
        # A negative size is a huge one without a sign.
        size = arith.UIToFPOp(number, arith.IndexCastOp(wide, size).result).result
        product = arith.MulFOp(product, size).result
    most = arith.ConstantOp(number, _MOST_BYTES).result
    fits = arith.CmpFOp(arith.CmpFPredicate.OLE, product, most).result
    _require(fits, "a size is negative or larger than any memory")


def _check_cast(operation: ir.Operation) -> None:
    source, result = operation.operands[0], operation.result
    if not isinstance(source.type, ir.MemRefType) or not isinstance(result.type, ir.MemRefType):
        return
    for axis, size in enumerate(result.type.shape):
        if not result.type.is_dynamic_dim(axis):
            _require_equal([_size(source, axis), size])


def _check_expansion(operation: ir.Operation) -> None:
    """The sizes that an axis is split into."""
    view = operation.opview
    for axis, group in enumerate(view.reassociation):
        parts = [_size(operation.result, ir.IntegerAttr(each).value) for each in group]
        if len(parts) == 1:
            _require_equal([_size(view.src, axis), parts[0]])
        elif not all(isinstance(part, int) for part in parts):
            product = functools.reduce(
                lambda left, right: arith.MulIOp(left, right).result, map(_value, parts)
            )
            _require_equal([_size(view.src, axis), product])


def _check_loops(generic: ir.Operation) -> None:
    """The sizes of operands that one loop goes through."""
    sizes: dict[int, list[_Size]] = {}
    for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True):
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr):
                position = ir.AffineDimExpr(expression).position
                sizes.setdefault(position, []).append(_size(operand, axis))
    for equal in sizes.values():
        _require_equal(equal)


_CHECKS: dict[str, Callable[[ir.Operation], None]] = {
    **dict.fromkeys((*_SIGNED, *_UNSIGNED), _check_division),
    "linalg.generic": _check_loops,
    "memref.alloc": _check_allocation,
    "memref.cast": _check_cast,
    "memref.expand_shape": _check_expansion,
    "memref.load": _check_load,
    "memref.store": _check_store,
    "memref.subview": _check_subview,
}


def _require(condition: ir.Value, message: str) -> None:
    cf.AssertOp(condition, message)


def _require_equal(sizes: list[_Size]) -> None:
    """That sizes, of which some may be the same value, are all the same number."""
    distinct = list(dict.fromkeys(sizes))
    if len(distinct) > 1:
        first, *others = map(_value, distinct)
        same = [_compare(arith.CmpIPredicate.eq, first, other) for other in others]
        _require(_all(*same), "sizes differ that must be the same")


def _all(*conditions: ir.Value) -> ir.Value:
    return functools.reduce(lambda left, right: arith.AndIOp(left, right).result, conditions)


def _compare(predicate: arith.CmpIPredicate, left: ir.Value, right: ir.Value) -> ir.Value:
    return arith.CmpIOp(predicate, left, right).result


def _number(number: int, type: ir.Type) -> ir.Value:
    return arith.ConstantOp(type, ir.IntegerAttr.get(type, number)).result


def _value(size: _Size) -> ir.Value:
    if isinstance(size, int):
        return _number(size, ir.IndexType.get())
    if isinstance(size, tuple):
        buffer, axis = size
        return memref.DimOp(buffer, _number(axis, ir.IndexType.get())).result
    return size


def _size(buffer: ir.Value, axis: int) -> _Size:
    """The size of an axis, by the value that it was made with where that is known."""
    type = ir.MemRefType(buffer.type)
    if not type.is_dynamic_dim(axis):
        return type.shape[axis]
    if not isinstance(buffer.owner, ir.Block):
        operation = buffer.owner.operation
        before = sum(type.is_dynamic_dim(each) for each in range(axis))
        if operation.name == "memref.alloc":
            return _origin(operation.operands[before])
        if operation.name == "memref.expand_shape":
            return _origin(operation.operands[1 + before])
        if operation.name == "memref.subview" and type.rank == operation.operands[0].type.rank:
            offsets = sum(
                number == ir.ShapedType.get_dynamic_size()
                for number in operation.opview.static_offsets
            )
            return _origin(operation.operands[1 + offsets + before])
        if operation.name == "memref.cast" and isinstance(
            operation.operands[0].type, ir.MemRefType
        ):
            return _size(operation.operands[0], axis)
    return buffer, axis


def _origin(value: ir.Value) -> _Size:
    """What a value of type index is the size of, if it is one."""
    constant = _constant(value)
    if constant is not None:
        return constant
    if not isinstance(value.owner, ir.Block) and value.owner.operation.name == "memref.dim":
        buffer, axis = value.owner.operation.operands
        axis = _constant(axis)
        if axis is not None:
            return _size(buffer, axis)
    return value


def _constant(value: ir.Value) -> int | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    return ir.IntegerAttr(attribute).value if isinstance(attribute, ir.IntegerAttr) else None


def _is_inside(index: ir.Value, size: _Size) -> bool:
    """Whether an index into an axis of that size is known to be less than it."""
    loop = _loop(index)
    if loop is None:
        return not _is_data(index)
    limit = _origin(loop.operands[1])
    return limit == size or (isinstance(limit, int) and isinstance(size, int) and limit <= size)


def _loop(value: ir.Value) -> ir.Operation | None:
    """The loop that counts this value."""
    if not isinstance(value.owner, ir.Block):
        return None
    loop = value.owner.owner.operation
    is_counted = loop.name == "scf.for" and ir.BlockArgument(value).arg_number == 0
    return loop if is_counted else None


def _is_data(value: ir.Value) -> bool:
    """Whether a number depends on more than sizes and on what loops count."""
    if isinstance(value.owner, ir.Block):
        return _loop(value) is None
    operation = value.owner.operation
    if operation.name in ("memref.dim", "linalg.index", "arith.constant"):
        return False
    if operation.name.startswith(("arith.", "affine.")):
        return any(_is_data(operand) for operand in operation.operands)
    return True


def _item_bytes(type: ir.Type) -> int:
    if isinstance(type, ir.ComplexType):
        return 2 * _item_bytes(type.element_type)
    if isinstance(type, ir.IndexType):
        return 8
    return -(-type.width // 8)
