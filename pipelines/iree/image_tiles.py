"""Convolves images of dynamic height or width in tiles of static width, on the CPU.

For a dynamic width, IREE computes one element of a row at a time: a 3×3 convolution of 64 channels
takes 12 times as long as in tiles. The images are cut into tiles of columns, which overlap by the
size of a window. They are the images of a convolution with a static width, which gets a schedule. A
convolution with a window of one element is a product of matrices.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.loops import Size, Slice, index
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import (
    dynamic_sizes,
    elementwise,
    is_of_zeros,
    padded,
    product_of,
    reshaped,
    sizes_of,
    tensor_type,
    transposed,
    zeros,
)
from pipelines.iree.barriers import stored
from pipelines.iree.channels_last import windows_of
from pipelines.iree.dispatch_region import dispatch
from pipelines.iree.row_tiles import (
    FEW,
    LANES,
    MANY,
    Registers,
    added,
    in_tiles,
    minus,
    multiply_rows,
    schedule,
    workgroup,
)
from pipelines.pipeline import Step

_CONVOLUTIONS = ("linalg.conv_1d_ncw_fcw", "linalg.conv_2d_nchw_fchw")
# Columns of the result in a tile: the first width of which windows overlap by at most half.
_WIDTHS = (8, 16, 32, 64)
# The channels that are added at a time, at most, and the rows of a workgroup.
_CHANNELS, _ROWS = 8, 8


def tile_images(module: ir.Module, registers: Registers = MANY) -> None:
    """Rewrites convolutions of f32 with a dynamic height or width, in place.

    Convolutions with groups do not change. The module's context must allow unregistered dialects.
    """
    with module.context:
        for convolution in find_operations(module, _is_supported):
            with ir.InsertionPoint(convolution), convolution.location:
                result = _tiled(convolution, registers)
                init = convolution.operands[2]
                if not is_of_zeros(init):
                    result = added(result, init)
                convolution.results[0].replace_all_uses_with(result)
            convolution.erase()


def _is_supported(operation: ir.Operation) -> bool:
    if operation.name not in _CONVOLUTIONS:
        return False
    image, weight, init = (ir.RankedTensorType(each.type) for each in operation.operands)
    return (
        all(isinstance(kind.element_type, ir.F32Type) for kind in (image, weight, init))
        and weight.has_static_shape
        and not image.is_dynamic_dim(1)
        and any(init.is_dynamic_dim(axis) for axis in range(2, init.rank))
    )


def _tiled(convolution: ir.Operation, registers: Registers) -> ir.Value:
    """Creates the convolution without its initial values, and returns the result in NCHW or NCW."""
    image, weight, init = convolution.operands
    strides, _ = windows_of(convolution)
    filters, _, *window = ir.RankedTensorType(weight.type).shape
    rank = len(window) + 2
    # Full vectors of filters.
    missing = -filters % LANES
    weight = _with_zeros(weight, [missing, *[0] * (rank - 1)]) if missing else weight
    filters += missing
    sizes = sizes_of(init)
    count, _, *inside = sizes
    image = stored(transposed(image, [0, *range(2, rank), 1]))
    if set(window) == {1}:
        last = _of_points(image, weight, strides, [count, *inside], registers)
    else:
        last = _in_tiles(convolution, image, weight, [count, *inside], registers)
    whole = transposed(last, [0, rank - 1, *range(1, rank - 1)])
    return Slice((0,) * rank, tuple(sizes), tuple(range(rank))).take(whole)


def _with_zeros(value: ir.Value, count: Sequence[Size]) -> ir.Value:
    """Adds zeros at the end of each axis."""
    element = ir.RankedTensorType(value.type).element_type
    zero = arith.ConstantOp(element, ir.FloatAttr.get(element, 0.0)).result
    return padded(value, [0] * len(count), count, zero)


def _of_points(
    image: ir.Value,
    weight: ir.Value,
    strides: Sequence[int],
    sizes: Sequence[Size],
    registers: Registers,
) -> ir.Value:
    """Creates a convolution with windows of one element, in the layout of the image.

    Args:
        image: channels are last.
        weight: shape (f, c, 1, …); f is a multiple of the number of lanes.
        sizes: those of the result, without the filters.
    """
    filters, channels, *window = ir.RankedTensorType(weight.type).shape
    axes = list(range(len(sizes) + 1))
    if max(strides) > 1:
        loops = [ir.AffineDimExpr.get(axis) for axis in axes]
        steps = [1, *strides, 1]
        places = [loop * step for loop, step in zip(loops, steps, strict=True)]
        image = elementwise([*sizes, channels], [(image, places)], lambda value: value)
    rows = product_of(sizes)
    left = reshaped("tensor.collapse_shape", image, [rows, channels], [axes[:-1], axes[-1:]])
    flat = reshaped(
        "tensor.collapse_shape",
        weight,
        [filters, channels],
        [[0], list(range(1, len(window) + 2))],
    )
    product = multiply_rows(left, transposed(flat, (1, 0)), registers)
    return reshaped("tensor.expand_shape", product, [*sizes, filters], [axes[:-1], axes[-1:]])


def _in_tiles(
    convolution: ir.Operation,
    image: ir.Value,
    weight: ir.Value,
    sizes: Sequence[Size],
    registers: Registers,
) -> ir.Value:
    """Creates a convolution of tiles of columns, in the layout of the image.

    Args:
        image, weight, sizes: as for `_of_points`.

    Returns:
        The result, whose last tile of columns is complete.
    """
    strides, dilations = windows_of(convolution)
    filters, channels, *window = ir.RankedTensorType(weight.type).shape
    count, *rows, width = sizes
    stride, reach = strides[-1], (window[-1] - 1) * dilations[-1]
    tile = next((each for each in _WIDTHS if 2 * reach <= each * stride), _WIDTHS[-1])
    # The columns of the image that a tile reads.
    read = (tile - 1) * stride + reach + 1
    tiles = in_tiles(width, tile)
    *outer, columns, _ = sizes_of(image)
    needed = product_of([minus(tiles, 1), tile * stride])
    missing = minus(needed, minus(columns, read))
    missing = arith.MaxSIOp(index(missing), index(0)).result
    rank = len(sizes) + 1
    image = _with_zeros(image, [*[0] * (rank - 2), missing, 0])
    # The loops are images, tiles, rows, columns of a tile, and channels.
    loops = [ir.AffineDimExpr.get(axis) for axis in range(rank + 1)]
    places = [loops[0], *loops[2:-2], loops[1] * (tile * stride) + loops[-2], loops[-1]]
    parts = elementwise(
        [count, tiles, *outer[1:], read, channels], [(image, places)], lambda value: value
    )
    if not rows:
        # The tiles are the rows of images.
        weight = reshaped(
            "tensor.expand_shape", weight, [filters, channels, 1, *window], [[0], [1], [2, 3]]
        )
        result = _convolved(
            convolution,
            parts,
            weight,
            [count, tiles, tile, filters],
            [1, *strides],
            [1, *dilations],
            registers,
        )
    else:
        # The tiles are images.
        groups = [[0, 1], [2], [3], [4]]
        images = product_of([count, tiles])
        parts = reshaped(
            "tensor.collapse_shape", parts, [images, *outer[1:], read, channels], groups
        )
        shape = [images, *rows, tile, filters]
        result = _convolved(convolution, parts, weight, shape, strides, dilations, registers)
        result = reshaped(
            "tensor.expand_shape", result, [count, tiles, *rows, tile, filters], groups
        )
        result = transposed(result, (0, 2, 1, 3, 4))
    wide = product_of([tiles, tile])
    groups = [*([axis] for axis in range(rank - 2)), [rank - 2, rank - 1], [rank]]
    return reshaped("tensor.collapse_shape", result, [count, *rows, wide, filters], groups)


def _convolved(
    convolution: ir.Operation,
    image: ir.Value,
    weight: ir.Value,
    sizes: Sequence[Size],
    strides: Sequence[int],
    dilations: Sequence[int],
    registers: Registers,
) -> ir.Value:
    """Creates a 2-D convolution of a static number of columns, in a dispatch.

    Args:
        convolution: the operation that it replaces. Its body is taken.
        image: shape (n, h, w, c).
        weight: shape (f, c, p, q).
        sizes: those of the result, (n, h, w, f).
    """
    filters, channels, *_ = ir.RankedTensorType(weight.type).shape
    image, weight = stored(image), stored(transposed(weight, (2, 3, 1, 0)))
    kind = tensor_type(sizes, ir.RankedTensorType(image.type).element_type)
    number = ir.IntegerType.get_signless(64)
    windows = {
        name: ir.DenseElementsAttr.get(
            [ir.IntegerAttr.get(number, each) for each in values], ir.VectorType.get([2], number)
        )
        for name, values in (("strides", strides), ("dilations", dilations))
    }
    depth = max(each for each in range(1, _CHANNELS + 1) if channels % each == 0)

    def convolve() -> list[ir.Value]:
        own = ir.Operation.create(
            "linalg.conv_2d_nhwc_hwcf",
            [kind],
            [image, weight, zeros(sizes, kind.element_type)],
            {**windows, "operandSegmentSizes": ir.DenseI32ArrayAttr.get([2, 1])},
            regions=1,
        )
        convolution.regions[0].blocks[0].append_to(own.regions[0])
        schedule(
            own,
            "ConvTileAndDecomposeExpert",
            [1, _ROWS, 0, workgroup(filters, LANES), 0, 0, 0],
            [1, 1, registers.rows, LANES, 0, 0, 0],
            [0, 0, 0, 0, 1, 1, depth],
        )
        return [own.result]

    (result,) = dispatch([kind], dynamic_sizes(sizes), convolve)
    return result


TILE_IMAGES = Step(
    "iree-tile-images",
    "convolve images of dynamic size in tiles of static width; for a dynamic width, IREE computes "
    "one element of a row at a time",
    tile_images,
)
TILE_IMAGES_FEW_REGISTERS = Step(
    "iree-tile-images-few-registers",
    "the same for CPUs with 16 vector registers, which hold fewer sums",
    partial(tile_images, registers=FEW),
)
