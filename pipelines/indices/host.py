"""Checks accesses to elements and slices outside of linalg operations."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith, cf

from pipelines.indices.accesses import FIRST_INDEX
from pipelines.indices.bodies import clamp_index
from pipelines.indices.flags import OUT_OF_RANGE
from pipelines.indices.slices import OUTSIDE, slice_axes
from pipelines.indices.values import number, size_of, size_value


def check_element(access: ir.Operation, axes: list[int]) -> None:
    """Asserts at the insertion point that indices are in range; replaces others by 0."""
    first = FIRST_INDEX[access.name]
    for axis in axes:
        size = size_of(access.operands[first - 1], axis)
        inside, safe = clamp_index(access.operands[first + axis], size)
        cf.AssertOp(inside, OUT_OF_RANGE)
        access.operands[first + axis] = safe


def check_slice(operation: ir.Operation, axes: list[int]) -> None:
    """Asserts at the insertion point that a slice is in range; replaces other offsets by 0."""
    every = slice_axes(operation)
    for axis in axes:
        part = every[axis]
        inside = part.is_inside()
        cf.AssertOp(inside, OUTSIDE)
        if part.operand is not None:
            start = number(0, ir.IndexType.get())
            safe = arith.SelectOp(inside, size_value(part.offset), start).result
            operation.operands[part.operand] = safe
