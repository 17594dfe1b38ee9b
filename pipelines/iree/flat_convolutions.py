"""Rewrites 1-D convolutions, and 3-D ones with windows of one column, to 2-D convolutions.

IREE has scalar code for both. A 1-D convolution gets images of width 1. A window of size k×1×1
becomes one of k×1, on images whose rows are the planes.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.tensor_ops import Size, copied, padded, product_of, reshaped, sizes_of, sliced
from pipelines.ir.values import producer
from pipelines.linalg_form.channels_last import padding_value

_LINES, _VOLUMES = "linalg.conv_1d_ncw_fcw", "linalg.conv_3d_ncdhw_fcdhw"
_IMAGES = "linalg.conv_2d_nchw_fchw"
# For each axis of the tensor with fewer axes, its axes in the other one.
_TO_WIDTH_1, _TO_ROWS = ((0,), (1,), (2, 3)), ((0,), (1,), (2,), (3, 4))


def is_flat(operation: ir.Operation) -> bool:
    """Returns whether `flattened` takes an operation. It does not check element types and sizes."""
    if operation.name != _VOLUMES:
        return operation.name == _LINES
    return ir.RankedTensorType(operation.operands[1].type).shape[3:] == [1, 1]


def flattened(operation: ir.Operation) -> tuple[ir.Operation, ir.Value]:
    """Creates the 2-D convolution, in NCHW, and its result in the shape of the operation's result.

    Args:
        operation: a convolution that `is_flat`; only the number of its images may be dynamic.
    """
    image, weight, init = operation.operands
    strides, dilations = (
        list(ir.DenseIntElementsAttr(operation.attributes[name]))
        for name in ("strides", "dilations")
    )
    if operation.name == _LINES:
        name, axes = "tensor.expand_shape", _TO_WIDTH_1
    else:
        name, axes = "tensor.collapse_shape", _TO_ROWS
        image, strides[1:] = _read_columns(image, strides, init), [1, 1]
    windows = {
        key: ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(ir.IntegerType.get_signless(64), each) for each in (value, 1)],
            ir.VectorType.get([2], ir.IntegerType.get_signless(64)),
        )
        for key, value in (("strides", strides[0]), ("dilations", dilations[0]))
    }
    init = _reshaped(init, name, axes)
    own = ir.Operation.create(
        _IMAGES,
        [init.type],
        [_reshaped(image, name, axes), _reshaped(weight, name, axes), init],
        {**windows, "operandSegmentSizes": operation.attributes["operandSegmentSizes"]},
        regions=1,
    )
    operation.regions[0].blocks[0].append_to(own.regions[0])
    back = "tensor.expand_shape" if name == "tensor.collapse_shape" else "tensor.collapse_shape"
    kind = ir.RankedTensorType(operation.results[0].type)
    count, *_ = sizes_of(operation.operands[2])
    return own, reshaped(back, own.results[0], [count, *kind.shape[1:]], axes)


def _read_columns(image: ir.Value, strides: Sequence[int], init: ir.Value) -> ir.Value:
    """Returns the rows and columns of NCDHW images that a window of one column reads."""
    *outer, _, _ = sizes_of(image)
    *_, height, width = ir.RankedTensorType(init.type).shape
    return sliced(image, [*outer, height, width], [1, 1, 1, *strides[1:]])


def _reshaped(value: ir.Value, name: str, axes: Sequence[Sequence[int]]) -> ir.Value:
    """Expands or collapses a tensor. Reshapes the operands of fills, broadcasts and paddings.

    The next steps convert these to NHWC, but not reshapes.
    """
    sizes = _sizes(sizes_of(value), name, axes)
    made = producer(value)
    if made is not None and made.name == "linalg.fill":
        return copied("linalg.fill", sizes, made.operands[0])
    if made is not None and made.name == "linalg.broadcast":
        added = set(ir.DenseI64ArrayAttr(made.attributes["dimensions"]))
        if added == set(range(ir.RankedTensorType(value.type).rank)) - {1}:
            dimensions = {"dimensions": ir.DenseI64ArrayAttr.get([0, 2, 3])}
            return copied("linalg.broadcast", sizes, made.operands[0], dimensions)
    if made is not None and made.name == "tensor.pad" and len(made.operands) == 1:
        low, high = (
            list(ir.DenseI64ArrayAttr(made.attributes[key]))
            for key in ("static_low", "static_high")
        )
        number = padding_value(made)
        # Only axes that stay by themselves can be padded after the reshape.
        if number is not None and not any((*low[3:], *high[3:])):
            low, high = [*low[:3], 0], [*high[:3], 0]
            return padded(_reshaped(made.operands[0], name, axes), low, high, number)
    return reshaped(name, value, sizes, axes)


def _sizes(sizes: Sequence[Size], name: str, axes: Sequence[Sequence[int]]) -> list[Size]:
    if name == "tensor.expand_shape":
        return [*sizes, 1]
    return [product_of([sizes[axis] for axis in group]) for group in axes]
