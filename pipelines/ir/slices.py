"""Extracts and inserts slices of tensors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import tensor

from pipelines.ir.loops import Size, size


@dataclass(frozen=True)
class Slice:
    """A part of a tensor.

    Attributes:
        offsets, sizes: one per axis of the tensor.
        kept: the axes of the part; the slice has size 1 along the others.
    """

    offsets: tuple[Size, ...]
    sizes: tuple[Size, ...]
    kept: tuple[int, ...]

    @classmethod
    def at(cls, value: ir.Value, places: dict[int, ir.Value]) -> Slice:
        """Returns the slice of `value` at these indices of some axes, whole along the others."""
        axes = range(ir.RankedTensorType(value.type).rank)
        return cls(
            tuple(places.get(axis, 0) for axis in axes),
            tuple(1 if axis in places else size(value, axis) for axis in axes),
            tuple(axis for axis in axes if axis not in places),
        )

    def take(self, whole: ir.Value) -> ir.Value:
        """Extracts the part of `whole`."""
        return tensor.ExtractSliceOp(self._type(whole), whole, *self._place()).result

    def put(self, part: ir.Value, whole: ir.Value) -> ir.Value:
        """Inserts a part into `whole`; the part is cast if its static sizes differ."""
        if part.type != self._type(whole):
            part = tensor.CastOp(self._type(whole), part).result
        return tensor.InsertSliceOp(part, whole, *self._place()).result

    def _type(self, whole: ir.Value) -> ir.Type:
        _, shape = _apart([self.sizes[axis] for axis in self.kept])
        return ir.RankedTensorType.get(shape, ir.RankedTensorType(whole.type).element_type)

    def _place(self) -> Iterable[Sequence]:
        ones = [1] * len(self.sizes)
        offsets, static_offsets = _apart(self.offsets)
        sizes, static_sizes = _apart(self.sizes)
        return offsets, sizes, [], static_offsets, static_sizes, ones


def _apart(numbers: Sequence[Size]) -> tuple[list[ir.Value], list[int]]:
    """Splits numbers into dynamic values, and static numbers with a mark for each dynamic one."""
    mark = ir.ShapedType.get_dynamic_size()
    computed = [number for number in numbers if isinstance(number, ir.Value)]
    return computed, [mark if isinstance(number, ir.Value) else number for number in numbers]
