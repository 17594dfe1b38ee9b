"""Rewrites transposed convolutions with strides, so that zeros are not multiplied.

torch-mlir inserts zeros between the elements of the image and computes a convolution of it: with
strides of 2, three of four products in an image are products with such a zero. But the elements of
a result at the places `stride * n + phase` depend on every stride-th element of the kernel only, so
they are the result of a convolution without strides and zeros. At the end, the results of all
phases are interleaved.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import elementwise, permute, reshape, slice_axis
from pipelines.ir.torch_operations import (
    float_constant,
    integer_constant,
    is_float,
    is_none,
    is_number,
    number_of,
    rewrite,
    sizes_of,
    tensor_type,
    value_of,
)
from pipelines.ir.values import producer_named


@dataclass(frozen=True)
class _Phases:
    """Neighboring phases that read the same elements of the image.

    Attributes:
        count: their number.
        first: the index of the first element of the kernel that the first phase reads. The next
            phase reads the elements behind those.
        taps: the number of elements of the kernel that each phase reads, `stride` apart.
        shift: the index of the last element of the image that the first result of a phase reads.
    """

    count: int
    first: int
    taps: int
    shift: int


@dataclass(frozen=True)
class _Axis:
    """The parameters of a transposed convolution along one axis."""

    kernel: int
    stride: int
    padding: int
    dilation: int
    output_padding: int

    def phases(self) -> list[_Phases]:
        """Returns all phases in their order."""
        found: list[_Phases] = []
        for phase in range(self.stride):
            shift, first = divmod(phase + self.padding, self.stride)
            taps = max(-(-(self.kernel - first) // self.stride), 0)
            if found and (found[-1].shift, found[-1].taps) == (shift, taps):
                found[-1] = replace(found[-1], count=found[-1].count + 1)
            else:
                found.append(_Phases(1, first, taps, shift))
        return found

    @property
    def growth(self) -> int:
        """The number of results of a phase, less the size of the image."""
        return -(-(self._reach - 2 * self.padding) // self.stride) - 1

    @property
    def excess(self) -> int:
        """The number of results of all phases behind the end of the convolution's result."""
        return self.stride * (self.growth + 1) + 2 * self.padding - self._reach

    def borders(self, phases: _Phases) -> tuple[int, int]:
        """Returns how many zeros are in front of and behind the image; negative to crop it."""
        front = (phases.taps - 1) * self.dilation - phases.shift
        return front, self.growth + phases.shift

    @property
    def _reach(self) -> int:
        return self.dilation * (self.kernel - 1) + 1 + self.output_padding


def convolve_phases(module: ir.Module) -> None:
    """Rewrites the strided transposed convolutions in a module at `torch`.

    The channels and the kernel must have static sizes. Others stay: convolutions with strides and
    dilations along the same axis; those whose padding crops the image itself, which captured
    programs do not have; and 3-D ones with groups, which have no lowering.
    """
    rewrite(module, {"torch.aten.convolution": _by_phases})


def _by_phases(convolution: ir.Operation) -> ir.Value | None:
    x, weight, bias, stride, padding, dilation, is_transposed, added, count = convolution.operands
    groups, kernel = number_of(count), sizes_of(weight.type)
    rank = len(kernel) - 2
    is_known = producer_named(is_transposed, "torch.constant.bool") and groups is not None
    if not is_known or not value_of(is_transposed) or None in kernel:
        return None
    has_batch = len(sizes_of(x.type)) == rank + 2
    if not has_batch or (groups > 1 and rank == 3) or not is_number(x.type):
        return None
    options = [_numbers(each, rank) for each in (stride, padding, dilation, added)]
    if any(option is None for option in options):
        return None
    axes = [_Axis(*numbers) for numbers in zip(kernel[2:], *options, strict=True)]
    if all(axis.stride == 1 for axis in axes):
        return None
    if any(
        (axis.stride > 1 and axis.dilation > 1) or axis.padding > axis.dilation * (axis.kernel - 1)
        for axis in axes
    ):
        return None
    parts = [
        (choice, _convolved(x, weight, axes, choice, groups))
        for choice in itertools.product(
            *([phases for phases in axis.phases() if phases.taps] for axis in axes)
        )
    ]
    result = _interleaved(dict(parts), axes)
    if not is_none(bias):
        channels = kernel[1] * groups
        result = elementwise("add.Tensor", result, reshape(bias, [channels, *[1] * rank]))
    return _with_type(result, convolution.result.type)


def _numbers(values: ir.Value, count: int) -> list[int] | None:
    """Returns the constants of a list. Repeats a single one for all axes."""
    listed = producer_named(values, "torch.prim.ListConstruct")
    numbers = [None] if listed is None else [number_of(value) for value in listed.operands]
    if None in numbers:
        return None
    return numbers * count if len(numbers) == 1 else numbers


def _convolved(
    x: ir.Value,
    weight: ir.Value,
    axes: Sequence[_Axis],
    choice: Sequence[_Phases],
    groups: int,
) -> ir.Value:
    """Returns the results of some phases.

    Returns:
        A tensor of shape (batch, filters, phases of each axis, results of each axis).
    """
    rank = len(axes)
    borders = [axis.borders(phases) for axis, phases in zip(axes, choice, strict=True)]
    image = _pad(x, [(0, 0), (0, 0), *borders])
    kernel = _kernel(weight, axes, choice, groups)
    sizes = sizes_of(image.type)
    results = [
        None if size is None else size - axis.dilation * (phases.taps - 1)
        for size, axis, phases in zip(sizes[2:], axes, choice, strict=True)
    ]
    kind = tensor_type([sizes[0], sizes_of(kernel.type)[0], *results], x.type)
    false = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))
    none = build_op("torch.constant.none", "!torch.none")
    zeros = _list([0] * rank)
    options = (_list([1] * rank), zeros, _list([axis.dilation for axis in axes]), false, zeros)
    operands = (image, kernel, none, *options, integer_constant(groups))
    convolved = build_op("torch.aten.convolution", kind, *operands)
    filters = sizes_of(weight.type)[1] * groups
    return _split(convolved, 1, [filters, *(phases.count for phases in choice)])


def _kernel(
    weight: ir.Value, axes: Sequence[_Axis], choice: Sequence[_Phases], groups: int
) -> ir.Value:
    """Returns the kernel of a convolution that computes some phases as channels of its result.

    Args:
        weight: of shape (channels, filters of a group, kernel).

    Returns:
        A tensor of shape (filters and phases, channels of a group, taps), with reversed taps.
    """
    rank = len(axes)
    channels, filters, *_ = sizes_of(weight.type)
    ends, pairs = [], []
    for axis, phases in zip(axes, choice, strict=True):
        # The elements of the first phases, in rows of one for each tap.
        length = phases.count if phases.taps == 1 else axis.stride
        ends.append((-phases.first, phases.first + phases.taps * length - axis.kernel))
        pairs += [phases.taps, length]
    kernel = _pad(weight, [(0, 0), (0, 0), *ends])
    kernel = reshape(kernel, [groups, channels // groups, filters, *pairs])
    for number, phases in enumerate(choice):
        if phases.count != pairs[2 * number + 1]:
            kernel = slice_axis(kernel, 4 + 2 * number, 0, phases.count)
    taps = [3 + 2 * number for number in range(rank)]
    kernel = permute(kernel, [0, 2, *(axis + 1 for axis in taps), 1, *taps])
    count = groups * filters * math.prod(phases.count for phases in choice)
    lengths = [phases.taps for phases in choice]
    # Reverses all axes of taps at once.
    kernel = reshape(kernel, [count, channels // groups, math.prod(lengths)])
    return reshape(_reverse(kernel, 2), [count, channels // groups, *lengths])


def _reverse(x: ir.Value, axis: int) -> ir.Value:
    """Reverses the elements along an axis.

    Creates no `flip`: IREE does not compile the lowering of some ("LLVM Translation failed for
    operation: builtin.unrealized_conversion_cast").
    """
    size = sizes_of(x.type)[axis]
    slices = [slice_axis(x, axis, place, place + 1) for place in reversed(range(size))]
    return x if size == 1 else _concatenated(slices, axis, size)


def _concatenated(values: Sequence[ir.Value], axis: int, size: int) -> ir.Value:
    """Concatenates tensors along an axis.

    Args:
        size: the size of the result along the axis.
    """
    sizes = sizes_of(values[0].type)
    sizes[axis] = None
    # The type of the list has the sizes that all tensors have in common.
    several = tensor_type(sizes, values[0].type).removeprefix("!torch.")
    listed = build_op("torch.prim.ListConstruct", f"!torch.list<{several}>", *values)
    sizes[axis] = size
    kind = tensor_type(sizes, values[0].type)
    return build_op("torch.aten.cat", kind, listed, integer_constant(axis))


def _interleaved(parts: dict[tuple[_Phases, ...], ir.Value], axes: Sequence[_Axis]) -> ir.Value:
    """Returns the result of a transposed convolution.

    Args:
        parts: the results of all phases that read an element of the kernel, as `_convolved` returns
            them.
    """
    rank = len(axes)
    for number in reversed(range(rank)):
        # Joins the phases of the last axis that is not complete.
        joined: dict[tuple[_Phases, ...], list[tuple[_Phases, ir.Value]]] = {}
        for choice, value in parts.items():
            joined.setdefault(choice[:number], []).append((choice[number], value))
        parts = {
            choice: _joined(values, axes[number], 2 + number) for choice, values in joined.items()
        }
    (result,) = parts.values()
    pairs = [axis for number in range(rank) for axis in (2 + rank + number, 2 + number)]
    result = permute(result, [0, 1, *pairs])
    for number in range(rank):
        sizes = sizes_of(result.type)
        place = 2 + number
        size, phases = sizes[place : place + 2]
        sizes[place : place + 2] = [None if size is None else size * phases]
        ends = map(integer_constant, (place, place + 1))
        kind = tensor_type(sizes, result.type)
        result = build_op("torch.aten.flatten.using_ints", kind, result, *ends)
    return _pad(result, [(0, 0), (0, 0), *((0, -axis.excess) for axis in axes)])


def _joined(values: list[tuple[_Phases, ir.Value]], axis: _Axis, place: int) -> ir.Value:
    """Concatenates the results of phases along an axis, with zeros for those that read nothing."""
    found = dict(values)
    padded: list[ir.Value] = []
    front = 0
    for phases in axis.phases():
        rank = len(sizes_of(values[0][1].type))
        if phases.taps:
            ends = [(0, 0)] * rank
            ends[place] = (front, 0)
            padded.append(_pad(found[phases], ends))
            front = 0
        elif padded:
            ends = [(0, 0)] * rank
            ends[place] = (0, phases.count)
            padded[-1] = _pad(padded[-1], ends)
        else:
            front = phases.count
    return padded[0] if len(padded) == 1 else _concatenated(padded, place, axis.stride)


def _pad(x: ir.Value, ends: Sequence[tuple[int, int]]) -> ir.Value:
    """Adds zeros at both ends of each axis. A negative number of them crops the axis."""
    for axis, (front, back) in enumerate(ends):
        if front < 0 or back < 0:
            x = _crop(x, axis, max(-front, 0), max(-back, 0))
    amounts = [(max(front, 0), max(back, 0)) for front, back in ends]
    if not any(map(any, amounts)):
        return x
    sizes = [
        None if size is None else size + front + back
        for size, (front, back) in zip(sizes_of(x.type), amounts, strict=True)
    ]
    # The operator's list starts with the last axis.
    numbers = _list([number for pair in reversed(amounts) for number in pair])
    zero = float_constant(0.0) if is_float(x.type) else integer_constant(0)
    return build_op("torch.aten.constant_pad_nd", tensor_type(sizes, x.type), x, numbers, zero)


def _crop(x: ir.Value, axis: int, front: int, back: int) -> ir.Value:
    sizes = sizes_of(x.type)
    if sizes[axis] is not None:
        sizes[axis] -= front + back
    end = integer_constant(-back if back else 2**63 - 1)
    bounds = (integer_constant(axis), integer_constant(front), end, integer_constant(1))
    return build_op("torch.aten.slice.Tensor", tensor_type(sizes, x.type), x, *bounds)


def _split(x: ir.Value, axis: int, sizes: Sequence[int]) -> ir.Value:
    """Splits an axis of static size."""
    shape = sizes_of(x.type)
    shape[axis : axis + 1] = sizes
    operands = (x, integer_constant(axis), _list(sizes))
    return build_op("torch.aten.unflatten.int", tensor_type(shape, x.type), *operands)


def _list(numbers: Sequence[int]) -> ir.Value:
    """Creates a list of integers."""
    values = map(integer_constant, numbers)
    return build_op("torch.prim.ListConstruct", "!torch.list<int>", *values)


def _with_type(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Converts a value to a type that knows other sizes of it."""
    if value.type == kind:
        return value
    return build_op("torch.tensor_static_info_cast", kind, value)
