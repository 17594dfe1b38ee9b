"""Queries about values and sizes, and scalar operations."""

from __future__ import annotations

import functools

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, memref, tensor
from pipelines.ir.values import constant_integer, producer, producer_named

# The size of an axis: a number, a value of type index, or the axis of a tensor or buffer.
Size = int | ir.Value | tuple[ir.Value, int]

_DYNAMIC = ir.ShapedType.get_dynamic_size()


def number(value: int, type: ir.Type) -> ir.Value:
    """Creates a constant."""
    return arith.ConstantOp(type, ir.IntegerAttr.get(type, value)).result


def compare(predicate: arith.CmpIPredicate, left: ir.Value, right: ir.Value) -> ir.Value:
    """Creates an `arith.cmpi`."""
    return arith.CmpIOp(predicate, left, right).result


def all_of(*conditions: ir.Value) -> ir.Value:
    """Creates the conjunction of conditions of type i1."""
    return functools.reduce(lambda left, right: arith.AndIOp(left, right).result, conditions)


def is_shaped(value: ir.Value) -> bool:
    """Returns whether a value is a ranked tensor or buffer."""
    return isinstance(value.type, (ir.RankedTensorType, ir.MemRefType))


def size_value(size: Size, type: ir.Type | None = None) -> ir.Value:
    """Returns a size as a value of type index, or of another integer type."""
    if isinstance(size, int):
        return number(size, type or ir.IndexType.get())
    if isinstance(size, tuple):
        owner, axis = size
        make = memref.DimOp if isinstance(owner.type, ir.MemRefType) else tensor.DimOp
        size = make(owner, number(axis, ir.IndexType.get())).result
    if type is None or isinstance(type, ir.IndexType):
        return size
    return arith.IndexCastOp(type, size).result


def size_of(value: ir.Value, axis: int) -> Size:
    """Returns the size of an axis, traced back to the number or value that defines it."""
    while True:
        type = value.type
        if not type.is_dynamic_dim(axis):
            return type.shape[axis]
        operation = producer(value)
        if operation is None:
            return value, axis
        name, operands = operation.name, operation.operands
        before = sum(type.is_dynamic_dim(each) for each in range(axis))
        if name in ("memref.alloc", "tensor.empty"):
            return origin(operands[before])
        if name in ("memref.expand_shape", "tensor.expand_shape"):
            return origin(operands[1 + before])
        if name in ("memref.subview", "tensor.extract_slice"):
            if type.rank != operands[0].type.rank:
                return value, axis
            offsets = list(operation.opview.static_offsets).count(_DYNAMIC)
            return origin(operands[1 + offsets + before])
        if name in ("memref.cast", "tensor.cast") and is_shaped(operands[0]):
            value = operands[0]
        elif name.startswith("linalg.") and isinstance(type, ir.RankedTensorType):
            # Results have the sizes of the last operands.
            results = list(operation.results)
            value = operands[len(operands) - len(results) + results.index(value)]
        elif name in ("tensor.insert", "tensor.insert_slice"):
            value = operands[1]
        else:
            return value, axis


def origin(value: ir.Value) -> Size:
    """Returns the size that a value of type index is, or the value itself."""
    known = constant_integer(value)
    if known is not None:
        return known
    operation = producer_named(value, "memref.dim", "tensor.dim")
    if operation is not None:
        owner, axis = operation.operands
        axis = constant_integer(axis)
        if axis is not None and is_shaped(owner):
            return size_of(owner, axis)
    return value
