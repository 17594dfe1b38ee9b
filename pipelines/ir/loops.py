"""Creates loops that carry tensors, index arithmetic, and slices of tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.lazy_dialects import scf, tensor
from pipelines.ir.modules import build_op
from pipelines.ir.values import producer_named

# A static number, or a value of type index.
Size = int | ir.Value


def size(value: ir.Value, axis: int) -> Size:
    """Returns the size of an axis; creates a `tensor.dim` if it is dynamic."""
    shape = ir.RankedTensorType(value.type)
    if not shape.is_dynamic_dim(axis):
        return shape.get_dim_size(axis)
    return build_op("tensor.dim", ir.IndexType.get(), value, index(axis))


def index(number: Size) -> ir.Value:
    """Returns the number as a value of type index."""
    if isinstance(number, ir.Value):
        return number
    kind = ir.IndexType.get()
    return build_op("arith.constant", kind, value=ir.IntegerAttr.get(kind, number))


def repeat(
    start: Size,
    end: Size,
    by: Size,
    carried: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Creates an `scf.for`, whose `body(place, *carried)` returns the next carried values.

    Returns:
        The final carried values.
    """
    loop = scf.ForOp(index(start), index(end), index(by), list(carried))
    with ir.InsertionPoint(loop.body):
        scf.YieldOp(list(body(loop.induction_variable, *loop.inner_iter_args)))
    return list(loop.results)


def repeat_each(
    ends: Sequence[Size],
    carried: Sequence[ir.Value],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Creates nested loops from 0, the last axis innermost.

    `body(places, *carried)` is like that of `repeat`.
    """

    def nested(places: list[ir.Value], carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        if len(places) == len(ends):
            return body(places, *carried)
        return repeat(
            0, ends[len(places)], 1, carried, lambda place, *inner: nested([*places, place], inner)
        )

    return list(nested([], carried))


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
    def at(cls, value: ir.Value, places: Mapping[int, Size]) -> Slice:
        """Returns the slice of `value` at these indices of some axes, whole along the others."""
        axes = range(ir.RankedTensorType(value.type).rank)
        return cls(
            tuple(places.get(axis, 0) for axis in axes),
            tuple(1 if axis in places else size(value, axis) for axis in axes),
            tuple(axis for axis in axes if axis not in places),
        )

    @classmethod
    def of(cls, value: ir.Value) -> tuple[ir.Value, Slice]:
        """Returns the tensor that a value of static shape is a slice of, and the slice.

        A value that is no slice, or one with strides or dynamic offsets, is all of a tensor.
        """
        slice_ = producer_named(value, "tensor.extract_slice")
        if slice_ is not None:
            names = ("static_offsets", "static_sizes", "static_strides")
            offsets, sizes, strides = (tuple(slice_.attributes[name]) for name in names)
            if len(slice_.operands) == 1 and set(strides) == {1}:
                return slice_.operands[0], cls(offsets, sizes, tuple(sliced_axes(slice_)))
        return value, cls.at(value, {})

    def take(self, whole: ir.Value) -> ir.Value:
        """Extracts the part of `whole`."""
        return tensor.ExtractSliceOp(self._type(whole), whole, *self._place()).result

    def put(self, part: ir.Value, whole: ir.Value) -> ir.Value:
        """Inserts a part into `whole`; the part is cast if its static sizes differ."""
        if part.type != self._type(whole):
            part = tensor.CastOp(self._type(whole), part).result
        return tensor.InsertSliceOp(part, whole, *self._place()).result

    def put_in_parallel(self, part: ir.Value, whole: ir.Value) -> None:
        """Inserts a part into `whole`, at the end of an iteration of an `scf.forall`."""
        tensor.ParallelInsertSliceOp(part, whole, *self._place())

    def _type(self, whole: ir.Value) -> ir.Type:
        _, shape = _apart([self.sizes[axis] for axis in self.kept])
        return ir.RankedTensorType.get(shape, ir.RankedTensorType(whole.type).element_type)

    def _place(self) -> Iterable[Sequence]:
        ones = [1] * len(self.sizes)
        offsets, static_offsets = _apart(self.offsets)
        sizes, static_sizes = _apart(self.sizes)
        return offsets, sizes, [], static_offsets, static_sizes, ones


def sliced_axes(operation: ir.Operation) -> list[int]:
    """Returns the axes of the operand of a `tensor.extract_slice` that its result has.

    The slice has size 1 along the others.
    """
    shape = ir.RankedTensorType(operation.results[0].type).shape
    kept: list[int] = []
    for axis, length in enumerate(operation.attributes["static_sizes"]):
        if shape[len(kept) : len(kept) + 1] == [length]:
            kept.append(axis)
    return kept


def _apart(numbers: Sequence[Size]) -> tuple[list[ir.Value], list[int]]:
    """Splits numbers into dynamic values, and static numbers with a mark for each dynamic one."""
    mark = ir.ShapedType.get_dynamic_size()
    computed = [number for number in numbers if isinstance(number, ir.Value)]
    return computed, [mark if isinstance(number, ir.Value) else number for number in numbers]
