"""Splits slices of tensors and buffers into one SliceAxis per axis."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.indices.values import Size, all_of, compare, number, origin, size_of, size_value
from pipelines.ir.lazy_dialects import arith

OUTSIDE = "slice out of range"
_DYNAMIC = ir.ShapedType.get_dynamic_size()


@dataclass(frozen=True)
class SliceAxis:
    """A slice along one axis. Numbers are of type `Size`.

    Attributes:
        limit: the size of the axis.
        operand: position of the offset among the operands; None for a static offset.
    """

    offset: Size
    size: Size
    stride: Size
    limit: Size
    operand: int | None

    @property
    def is_trivial(self) -> bool:
        """Whether the slice has the whole axis, or is static, so that the verifier checks it."""
        numbers = (self.offset, self.size, self.stride, self.limit)
        is_whole = self.offset == 0 and self.stride == 1 and self.size == self.limit
        return is_whole or all(isinstance(each, int) for each in numbers)

    @property
    def places(self) -> int | None:
        """The number of offsets at which the slice is inside of the axis; None if unknown."""
        numbers = (self.size, self.stride, self.limit)
        if not all(isinstance(each, int) for each in numbers) or self.size == 0:
            return None
        return max(self.limit - (self.size - 1) * self.stride, 0)

    def is_inside(self) -> ir.Value:
        """Creates an i1 at the insertion point: whether the slice is empty or inside the axis."""
        # If neither number is negative, both are below 2**63, and the unsigned sum cannot overflow.
        zero, limit = number(0, ir.IndexType.get()), size_value(self.limit)
        offset, size = size_value(self.offset), size_value(self.size)
        last = arith.SubIOp(size, number(1, size.type)).result
        end = arith.AddIOp(offset, arith.MulIOp(last, size_value(self.stride)).result).result
        empty = compare(arith.CmpIPredicate.eq, size, zero)
        inside = all_of(
            compare(arith.CmpIPredicate.sge, offset, zero),
            compare(arith.CmpIPredicate.ule, size, limit),
            compare(arith.CmpIPredicate.ult, end, limit),
        )
        return arith.OrIOp(empty, inside).result


def slice_axes(operation: ir.Operation) -> list[SliceAxis]:
    """Returns the offset, size and stride of a slice along each axis of its tensor or buffer."""
    view = operation.opview
    whole = operation.operands[1 if operation.name == "tensor.insert_slice" else 0]
    position = sum(list(operation.attributes["operandSegmentSizes"])[:-3])
    columns: list[list[tuple[Size, int | None]]] = []
    for static in (view.static_offsets, view.static_sizes, view.static_strides):
        column: list[tuple[Size, int | None]] = []
        for each in static:
            if each == _DYNAMIC:
                column.append((origin(operation.operands[position]), position))
                position += 1
            else:
                column.append((each, None))
        columns.append(column)
    return [
        SliceAxis(offset, size, stride, size_of(whole, axis), operand)
        for axis, ((offset, operand), (size, _), (stride, _)) in enumerate(
            zip(*columns, strict=True)
        )
    ]
