"""Rectangular parts of tensors, taken out and put back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torch_mlir import ir
from torch_mlir.dialects import tensor

from pipelines.upstream.loops import Size, size


@dataclass(frozen=True)
class Slice:
    """A part of a tensor.

    Attributes:
        offsets, sizes: one per axis of the tensor.
        kept: the axes that the part has; the others are of size 1.
    """

    offsets: tuple[Size, ...]
    sizes: tuple[Size, ...]
    kept: tuple[int, ...]

    @classmethod
    def at(cls, value: ir.Value, places: dict[int, ir.Value]) -> Slice:
        """The part of `value` at these places of some axes, all of it along the others."""
        axes = range(ir.RankedTensorType(value.type).rank)
        return cls(
            tuple(places.get(axis, 0) for axis in axes),
            tuple(1 if axis in places else size(value, axis) for axis in axes),
            tuple(axis for axis in axes if axis not in places),
        )

    def take(self, whole: ir.Value) -> ir.Value:
        """The part of `whole`."""
        return tensor.ExtractSliceOp(self._type(whole), whole, *self._place()).result

    def put(self, part: ir.Value, whole: ir.Value) -> ir.Value:
        """`whole` with another part, whose type may tell more or less about its sizes."""
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
    """What is computed, and what is known, with a mark where it is not."""
    mark = ir.ShapedType.get_dynamic_size()
    computed = [number for number in numbers if isinstance(number, ir.Value)]
    return computed, [mark if isinstance(number, ir.Value) else number for number in numbers]
