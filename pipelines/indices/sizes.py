"""Checks sizes that are read from data, so that the number of bytes of a tensor cannot overflow."""

from __future__ import annotations

import math
from collections.abc import Iterable

from torch_mlir import ir

from pipelines.indices.values import compare, number
from pipelines.ir.lazy_dialects import arith, cf
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer
from pipelines.pipeline import Step

# The address space of a process on most processors.
_MOST_BYTES = 1 << 47
_MESSAGE = "a size is negative or too large for any memory"


def check_sizes(module: ir.Module) -> None:
    """Puts assertions before each `tensor.empty` with a size that is read from data, in place.

    IREE computes the number of bytes in 64 bits. It allocates too little memory if that wraps
    around.
    """
    found = find_operations(module, _has_size_from_data)
    with module.context:
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _check(operation)


def _has_size_from_data(operation: ir.Operation) -> bool:
    return operation.name == "tensor.empty" and any(map(_is_from_data, operation.operands))


def _is_from_data(size: ir.Value) -> bool:
    """Returns whether a scalar is computed from an element of a tensor, or is an argument."""
    waiting, seen = [size], set()
    while waiting:
        value = waiting.pop()
        operation = producer(value)
        if operation is None or operation.name == "tensor.extract":
            return True
        if value not in seen and operation.name.startswith("arith."):
            waiting += operation.operands
        seen.add(value)
    return False


def _check(empty: ir.Operation) -> None:
    kind = ir.RankedTensorType(empty.result.type)
    known = math.prod(
        kind.shape[axis] for axis in range(kind.rank) if not kind.is_dynamic_dim(axis)
    )
    if known:
        _require_product(empty.operands, _MOST_BYTES // (known * _item_bytes(kind.element_type)))


def _require_product(sizes: Iterable[ir.Value], most: int) -> None:
    """Inserts checks that the product of sizes is at most `most`. A product might wrap around."""
    limit, one = (number(each, ir.IndexType.get()) for each in (most, 1))
    for size in sizes:
        # As an unsigned number, a negative size is large.
        cf.AssertOp(compare(arith.CmpIPredicate.ule, size, limit), _MESSAGE)
        limit = arith.DivUIOp(limit, arith.MaxUIOp(size, one).result).result


def _item_bytes(kind: ir.Type) -> int:
    if isinstance(kind, ir.ComplexType):
        return 2 * _item_bytes(kind.element_type)
    return 8 if isinstance(kind, ir.IndexType) else -(-kind.width // 8)


CHECK_SIZES = Step(
    "check-sizes",
    "check sizes that are read from data: the number of bytes may exceed 64 bits",
    check_sizes,
)
