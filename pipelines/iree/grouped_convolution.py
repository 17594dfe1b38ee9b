"""Grouped convolutions as batches of matrix products, which IREE has vector code for.

Of `linalg.conv_2d_ngchw_gfchw`, and of its form for NHWC, it makes scalar code.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.iree.tensor_ops import elementwise, reshaped, transposed, zeros


def grouped_convolution(
    image: ir.Value,
    weight: ir.Value,
    strides: Sequence[int],
    dilations: Sequence[int],
    kind: ir.RankedTensorType,
) -> ir.Value:
    """For each group, a matrix of the windows of the image times one of the weights.

    Args:
        image: padded, of shape (n, h, w, g·c).
        weight: of shape (g, f, c, p, q), as the operation on NCHW has it.
        kind: of the result, of shape (n, h, w, g·f).
    """
    groups, filters, channels, *window = ir.RankedTensorType(weight.type).shape
    count, height, width, _ = kind.shape
    apart = [*ir.RankedTensorType(image.type).shape[:3], groups, channels]
    image = reshaped("tensor.expand_shape", image, apart, [[0], [1], [2], [3, 4]])
    g, n, h, w, p, q, c = (ir.AffineDimExpr.get(axis) for axis in range(7))
    at = [
        loop * stride + offset * dilation
        for loop, stride, offset, dilation in zip((h, w), strides, (p, q), dilations, strict=True)
    ]
    element = kind.element_type
    shape = [groups, count, height, width, *window, channels]
    windows = elementwise(
        ir.RankedTensorType.get(shape, element), [(image, [n, *at, g, c])], lambda value: value
    )
    rows, depth = count * height * width, window[0] * window[1] * channels
    left = reshaped(
        "tensor.collapse_shape", windows, [groups, rows, depth], [[0], [1, 2, 3], [4, 5, 6]]
    )
    right = reshaped(
        "tensor.collapse_shape",
        transposed(weight, (0, 3, 4, 2, 1)),
        [groups, depth, filters],
        [[0], [1, 2, 3], [4]],
    )
    product = _batch_matmul(
        left, right, zeros(ir.RankedTensorType.get([groups, rows, filters], element))
    )
    product = reshaped(
        "tensor.expand_shape",
        product,
        [groups, count, height, width, filters],
        [[0], [1, 2, 3], [4]],
    )
    image = transposed(product, (1, 2, 3, 0, 4))
    return reshaped("tensor.collapse_shape", image, kind.shape, [[0], [1], [2], [3, 4]])


def _batch_matmul(left: ir.Value, right: ir.Value, init: ir.Value) -> ir.Value:
    own = ir.Operation.create(
        "linalg.batch_matmul",
        [init.type],
        [left, right, init],
        {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 1])},
        regions=1,
    )
    element = ir.RankedTensorType(init.type).element_type
    block = own.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        a, b, total = block.arguments
        product = ir.Operation.create("arith.mulf", [element], [a, b]).result
        total = ir.Operation.create("arith.addf", [element], [total, product]).result
        ir.Operation.create("linalg.yield", [], [total])
    return own.result
