"""Lowers convolutions with dynamic sizes that have groups, or images of dynamic size.

`stablehlo-legalize-to-linalg` does not lower these. The layout is NHWC, with HWIO kernels
(`pipelines/output_dialects/stablehlo_convolution.py`).
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.expressions import Scalar, constant
from pipelines.ir.generics import generic
from pipelines.ir.loops import Size, index, size
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import reshaped, sizes_of, zeros
from pipelines.stablehlo.windows import window_count, window_numbers, window_padding


def lower_dynamic_convolutions(module: ir.Module) -> None:
    """Lowers the convolutions of a module that upstream does not lower, in place.

    Convolutions with batch groups, reversed windows or a dynamic number of channels stay as they
    are.
    """
    with module.context:
        replace_operations(
            find_operations(module, _is_not_lowered_upstream),
            lambda convolution: _Convolution(convolution).result(),
        )


def _is_not_lowered_upstream(operation: ir.Operation) -> bool:
    if operation.name != "stablehlo.convolution":
        return False
    image, kernel = (ir.RankedTensorType(each.type) for each in operation.operands)
    channels = image.rank - 1
    if image.has_static_shape or image.is_dynamic_dim(channels) or not kernel.has_static_shape:
        return False
    name = "window_reversal"
    if name in operation.attributes and any(ir.DenseBoolArrayAttr(operation.attributes[name])):
        return False
    if _number(operation, "batch_group_count") != 1:
        return False
    return _number(operation, "feature_group_count") > 1 or any(
        image.is_dynamic_dim(axis) for axis in range(1, channels)
    )


def _number(operation: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(operation.attributes[name]).value


class _Convolution:
    """Lowers one convolution to a `linalg.generic`.

    The axes of the image are [N, spatial…, G, I], those of the kernel [spatial…, I, G, O]: G groups
    of I input and O output channels.
    """

    def __init__(self, convolution: ir.Operation):
        self.convolution = convolution
        self.kind = ir.RankedTensorType(convolution.results[0].type)
        self.space = range(self.kind.rank - 2)
        self.groups = _number(convolution, "feature_group_count")
        self.strides, self.dilations, self.image_dilations = (
            window_numbers(convolution, name, len(self.space))
            for name in ("window_strides", "rhs_dilation", "lhs_dilation")
        )

    def result(self) -> ir.Value:
        image, kernel = (
            _converted(each, self.kind.element_type) for each in self.convolution.operands
        )
        image = self._padded(image)
        *window, inputs, outputs = ir.RankedTensorType(kernel.type).shape
        sizes: list[Size] = [size(image, 0)]
        sizes += [self._result_size(image, axis, window[axis]) for axis in self.space]
        rank = len(self.space)
        image = _split(image, rank + 1, [self.groups, inputs])
        kernel = _split(kernel, rank + 1, [self.groups, outputs // self.groups])

        # Loops: N, spatial…, G, O; then the window…, I.
        result = [ir.AffineExpr.get_dim(loop) for loop in range(rank + 3)]
        n, *places, group, output = result
        *offsets, channel = (ir.AffineExpr.get_dim(rank + 3 + loop) for loop in range(rank + 1))
        read = [
            place * stride + offset * dilation
            for place, stride, offset, dilation in zip(
                places, self.strides, offsets, self.dilations, strict=True
            )
        ]
        start = zeros([*sizes, self.groups, outputs // self.groups], self.kind.element_type)
        (sums,) = generic(
            [image, kernel],
            [start],
            [[n, *read, group, channel], [*offsets, channel, group, output], result],
            ["parallel"] * (rank + 3) + ["reduction"] * (rank + 1),
            lambda x, weight, total: [(Scalar(total) + Scalar(x) * Scalar(weight)).value],
        )
        axes = [[axis] for axis in range(rank + 1)] + [[rank + 1, rank + 2]]
        return reshaped("tensor.collapse_shape", sums, [*sizes, outputs], axes)

    def _padded(self, image: ir.Value) -> ir.Value:
        """Pads the image on each side, and between its elements."""
        interior = [each - 1 for each in self.image_dilations]
        low, high = window_padding(self.convolution, len(self.space))
        if not any((*interior, *low, *high)):
            return image
        own = ir.RankedTensorType(image.type)
        shape = list(own.shape)
        for axis, between in enumerate(interior):
            if not own.is_dynamic_dim(axis + 1):
                shape[axis + 1] += max(shape[axis + 1] - 1, 0) * between + low[axis] + high[axis]
        scalar = ir.RankedTensorType.get([], own.element_type)
        zero = build_op("tensor.from_elements", scalar, constant(0, own.element_type).value)
        array = ir.DenseI64ArrayAttr.get
        return build_op(
            "stablehlo.pad",
            ir.RankedTensorType.get(shape, own.element_type),
            image,
            zero,
            edge_padding_low=array([0, *low, 0]),
            edge_padding_high=array([0, *high, 0]),
            interior_padding=array([0, *interior, 0]),
        )

    def _result_size(self, image: ir.Value, axis: int, length: int) -> Size:
        if not self.kind.is_dynamic_dim(axis + 1):
            return self.kind.shape[axis + 1]
        own = index(size(image, axis + 1))
        return window_count(own, length, self.strides[axis], self.dilations[axis])


def _converted(value: ir.Value, element: ir.Type) -> ir.Value:
    kind = ir.RankedTensorType(value.type)
    if kind.element_type == element:
        return value
    return build_op("stablehlo.convert", ir.RankedTensorType.get(kind.shape, element), value)


def _split(value: ir.Value, axis: int, sizes: list[int]) -> ir.Value:
    """Expands the last axis, `axis`, into two."""
    whole = [*sizes_of(value)[:axis], *sizes]
    axes = [[each] for each in range(axis)] + [[axis, axis + 1]]
    return reshaped("tensor.expand_shape", value, whole, axes)
