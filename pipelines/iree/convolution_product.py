"""Lowers convolutions to matrix products where IREE's code for convolutions is slow.

Figures are ratios of CPU times on `iree-cpu`: NHWC convolution divided by product. They were
measured on Zen 4, unless another CPU is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.tensor_ops import (
    Size,
    elementwise,
    product_of,
    reshaped,
    sizes_of,
    transposed,
    zeros,
)
from pipelines.iree.barriers import barrier

# Result widths up to this one are slow if no tile size from 2 to 8 divides them. Figures of 3×3
# convolutions: 2.5 for width 11, 2.8 for 13, 1.8 for 19, 1.6 for 31; below 1 for 149 and for other
# widths.
_WIDEST = 64
_DIVISORS = range(2, 9)
# More filters than the first number are slow if they are no multiple of the second. Times of 3×3
# convolutions of 64 channels on one thread, relative to eager: 5.4 for 136 filters, 6.2 for 152,
# 4.4 for 232, 5.1 for 248, 23 for 296; but 1.1 for 120, 1.0 for 240.
_MANY_FILTERS, _FILTERS_IN_TILE = 128, 16
# IREE's code for a convolution reads all weights for each tile of the result. Weights of more bytes
# than this limit do not stay in a core's L2 cache. On Cascade Lake, a 3×3 convolution of 512
# channels took 1.9 to 2.7 times as long, ResNet-18 2.0 to 2.2 times, ResNet-50 1.4 times. With a
# tenth of this limit, ResNet-18 takes 1.3 times as long as with this limit.
_LARGEST_WEIGHT = 1 << 20
# The limit for CPUs with 16 vector registers: IREE's code for a convolution needs more. On Zen 3,
# with two threads, elapsed times with the other limit, relative to this one: ResNet-18 1.4,
# ResNet-50 1.2, DenseNet-121 2.0, the U-Net of `bench peers` 1.1 to 1.2; with a dynamic batch,
# ResNet-18 6.5 and VGG-11 3.0. If every convolution is a product, the U-Net takes 1.2 times as
# long.
_LARGEST_WEIGHT_FEW_REGISTERS = 1 << 16


def is_better_as_product(
    weight: ir.Value, strides: Sequence[int], kind: ir.RankedTensorType, *, few_registers: bool
) -> bool:
    """Returns whether IREE's own code for a convolution without groups is slow.

    Windows in one direction, such as 7×1, take 4 to 12 times as long. With strides, those with a
    result of height or width 1 do not compile. Adjacent windows without overlap, such as patches of
    an image, only reorder its elements: IREE's scalar code for them took 12 % of a ViT's time.
    Weights that are larger than a core's cache are read again for each tile. Many filters that do
    not fill their last tile get scalar code. A tile of a result that is smaller than the window, as
    in the gradient of a weight, reads each weight for a few elements only.

    Args:
        weight: the weight, of shape (f, c, p, q).
        kind: the type of the result, of shape (n, h, w, f); only n may be dynamic.
        few_registers: whether the CPU has 16 vector registers, and not more.
    """
    window = ir.RankedTensorType(weight.type).shape[2:]
    if list(window) == [1, 1]:
        return False
    _, height, width, filters = kind.shape
    has_no_tile = width <= _WIDEST and all(width % divisor for divisor in _DIVISORS)
    elements = prod(ir.RankedTensorType(weight.type).shape)
    limit = _LARGEST_WEIGHT_FEW_REGISTERS if few_registers else _LARGEST_WEIGHT
    is_large = elements * ir.FloatType(kind.element_type).width // 8 > limit
    has_odd_filters = filters > _MANY_FILTERS and filters % _FILTERS_IN_TILE != 0
    is_small = height * width < prod(window)
    # With a dynamic batch, there is no data tiling. With more registers, products then make VGG-11
    # take 1.3 to 1.7 times as long as with IREE's own code, ResNet-18 1.2 times (on Zen 5).
    has_fast_product = few_registers or not kind.is_dynamic_dim(0)
    is_slow = has_fast_product and (is_large or has_odd_filters or is_small)
    return is_slow or has_no_tile or list(window) == list(strides) or 1 in (*window, height)


def convolution_as_product(
    image: ir.Value,
    weight: ir.Value,
    strides: Sequence[int],
    dilations: Sequence[int],
    kind: ir.RankedTensorType,
    init: ir.Value | None,
    zero_points: Sequence[ir.Value] = (),
) -> ir.Value:
    """Creates, for each group, the product of a matrix of image windows and one of weights.

    Args:
        image: the padded image, of shape (n, h, w, g·c); only n may be dynamic.
        weight: the weight of the NCHW operation, of shape (g, f, c, p, q) or (f, c, p, q).
        kind: the type of the result, of shape (n, h, w, g·f).
        init: a tensor of that type to add; None for 0.
        zero_points: those of the image and the weight, i32, if they are integers.
    """
    shape = list(ir.RankedTensorType(weight.type).shape)
    if len(shape) == 4:
        axes = [[0, 1], [2], [3], [4]]
        weight = reshaped("tensor.expand_shape", weight, [1, *shape], axes)
    groups, filters, channels, *window = ir.RankedTensorType(weight.type).shape
    _, height, width, _ = kind.shape
    count, *extent, _ = sizes_of(image)
    apart = [count, *extent, groups, channels]
    image = reshaped("tensor.expand_shape", image, apart, [[0], [1], [2], [3, 4]])
    g, n, h, w, p, q, c = (ir.AffineDimExpr.get(axis) for axis in range(7))
    at = [
        loop * stride + offset * dilation
        for loop, stride, offset, dilation in zip((h, w), strides, (p, q), dilations, strict=True)
    ]
    shape = [groups, count, height, width, *window, channels]
    windows = elementwise(shape, [(image, [n, *at, g, c])], lambda value: value)
    rows, depth = product_of([count, height, width]), prod([*window, channels])
    left = reshaped(
        "tensor.collapse_shape", windows, [groups, rows, depth], [[0], [1, 2, 3], [4, 5, 6]]
    )
    if zero_points:
        left = barrier(left)
    right = reshaped(
        "tensor.collapse_shape",
        transposed(weight, (0, 3, 4, 2, 1)),
        [groups, depth, filters],
        [[0], [1, 2, 3], [4]],
    )
    sums = zeros([groups, rows, filters], kind.element_type)
    product = _batch_matmul([left, right, *zero_points], sums)
    product = reshaped(
        "tensor.expand_shape",
        product,
        [groups, count, height, width, filters],
        [[0], [1, 2, 3], [4]],
    )
    apart = transposed(product, (1, 2, 3, 0, 4))
    sizes: list[Size] = [count, height, width, groups * filters]
    result = reshaped("tensor.collapse_shape", apart, sizes, [[0], [1], [2], [3, 4]])
    if init is None:
        return result
    loops = [ir.AffineDimExpr.get(axis) for axis in range(4)]
    return elementwise(sizes, [(result, loops), (init, loops)], _sum)


def _sum(*values: ir.Value) -> ir.Value:
    name = "addi" if isinstance(values[0].type, ir.IntegerType) else "addf"
    return ir.Operation.create(f"arith.{name}", [values[0].type], values).result


def _batch_matmul(operands: Sequence[ir.Value], init: ir.Value) -> ir.Value:
    """Creates a product of batches of matrices: of integers, if there are two zero points."""
    is_quantized = len(operands) == 4
    own = ir.Operation.create(
        "linalg.quantized_batch_matmul" if is_quantized else "linalg.batch_matmul",
        [init.type],
        [*operands, init],
        {"operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 1])},
        regions=1,
    )
    total = ir.RankedTensorType(init.type).element_type
    kinds = [ir.RankedTensorType(each.type).element_type for each in operands[:2]]
    block = own.regions[0].blocks.append(*kinds, *[each.type for each in operands[2:]], total)
    with ir.InsertionPoint(block):
        factors, points = block.arguments[:2], block.arguments[2:-1]
        if is_quantized:
            factors = [
                build_op("arith.subi", total, build_op("arith.extsi", total, factor), point)
                for factor, point in zip(factors, points, strict=True)
            ]
        product = build_op("arith.muli" if is_quantized else "arith.mulf", total, *factors)
        ir.Operation.create("linalg.yield", [], [_sum(block.arguments[-1], product)])
    return own.result
