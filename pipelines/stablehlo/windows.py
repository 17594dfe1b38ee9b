"""Lowers `stablehlo.reduce_window` with dynamic sizes, such as pooling of a dynamic batch.

`stablehlo-legalize-to-linalg` lowers it with static sizes only.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.generics import generic
from pipelines.ir.lazy_dialects import tensor
from pipelines.ir.loops import Size, index, size
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import copied, empty, padded
from pipelines.stablehlo.bodies import mapped


def lower_dynamic_windows(module: ir.Module) -> None:
    """Lowers the windows with dynamic sizes of a module to `linalg.generic`, in place.

    Windows on dilated or cropped operands stay as they are.
    """
    with module.context:
        replace_operations(find_operations(module, _is_dynamic_window), _lowered)


def _is_dynamic_window(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.reduce_window" and not all(
        ir.RankedTensorType(each.type).has_static_shape
        for each in (*operation.operands, *operation.results)
    )


@dataclass(frozen=True)
class _Axis:
    """The window along one axis; dilation is the distance between its elements."""

    length: int
    stride: int
    dilation: int
    low: int
    high: int

    @property
    def is_whole(self) -> bool:
        """Whether the result has the elements of the operand along this axis."""
        return (self.length, self.stride, self.low, self.high) == (1, 1, 0, 0)


def _lowered(operation: ir.Operation) -> list[ir.Value] | None:
    count = len(operation.results)
    axes = _axes(operation)
    if axes is None:
        return None
    start = [tensor.ExtractOp(each, []).result for each in list(operation.operands)[count:]]
    inputs = list(operation.operands)[:count]
    if any(axis.low or axis.high for axis in axes):
        low, high = [axis.low for axis in axes], [axis.high for axis in axes]
        inputs = [
            padded(each, low, high, number) for each, number in zip(inputs, start, strict=True)
        ]
    sizes = [_result_size(operation, inputs[0], axis, about) for axis, about in enumerate(axes)]
    outputs = [copied("linalg.fill", sizes, number) for number in start]

    # One parallel loop for each axis, then a reduction for each axis with windows longer than 1.
    long = [axis for axis, about in enumerate(axes) if about.length > 1]
    places = list(range(len(axes)))
    read = [ir.AffineExpr.get_dim(axis) * about.stride for axis, about in enumerate(axes)]
    for loop, axis in enumerate(long, len(axes)):
        read[axis] = read[axis] + ir.AffineExpr.get_dim(loop) * axes[axis].dilation
    # `linalg` takes the number of iterations of a loop from a tensor.
    window = empty([axes[axis].length for axis in long], start[0].type)
    loops = list(range(len(axes), len(axes) + len(long)))

    def combine(*elements: ir.Value) -> list[ir.Value]:
        new, old = elements[:count], elements[count + 1 :]
        tensors = [
            build_op("tensor.from_elements", ir.RankedTensorType.get([], each.type), each)
            for each in (*old, *new)
        ]
        return [tensor.ExtractOp(each, []).result for each in mapped(operation, tensors)]

    return generic(
        [*inputs, window],
        outputs,
        [*[read] * count, loops, *[places] * count],
        ["parallel"] * len(axes) + ["reduction"] * len(long),
        combine,
    )


def _axes(operation: ir.Operation) -> list[_Axis] | None:
    """Returns the window along each axis, or None for dilated or cropped operands."""
    lengths = list(ir.DenseI64ArrayAttr(operation.attributes["window_dimensions"]))
    rank = len(lengths)
    low, high = window_padding(operation, rank)
    is_dilated = set(window_numbers(operation, "base_dilations", rank)) != {1}
    if is_dilated or min((*low, *high)) < 0:
        return None
    strides, dilations = (
        window_numbers(operation, name, rank) for name in ("window_strides", "window_dilations")
    )
    return [_Axis(*each) for each in zip(lengths, strides, dilations, low, high, strict=True)]


def _result_size(operation: ir.Operation, x: ir.Value, axis: int, about: _Axis) -> Size:
    kind = ir.RankedTensorType(operation.results[0].type)
    if not kind.is_dynamic_dim(axis):
        return kind.shape[axis]
    own = index(size(x, axis))
    if about.is_whole:
        return own
    return window_count(own, about.length, about.stride, about.dilation)


def window_count(size: ir.Value, length: int, stride: int, dilation: int) -> ir.Value:
    """Returns the number of windows along an axis, padding included.

    Args:
        dilation: the distance between the elements of a window.
    """
    reach = (length - 1) * dilation + 1
    return ((Scalar(size) - reach).at_least(-stride) / stride + 1).value


def window_numbers(operation: ir.Operation, name: str, rank: int) -> list[int]:
    """Returns an attribute with a number for each axis. The default is 1."""
    if name not in operation.attributes:
        return [1] * rank
    return list(ir.DenseI64ArrayAttr(operation.attributes[name]))


def window_padding(operation: ir.Operation, rank: int) -> tuple[list[int], list[int]]:
    """Returns the padding before and after each axis. The default is 0."""
    if "padding" not in operation.attributes:
        return [0] * rank, [0] * rank
    numbers = list(ir.DenseIntElementsAttr(operation.attributes["padding"]))
    return numbers[::2], numbers[1::2]
