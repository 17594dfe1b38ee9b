"""Lowers 3-D convolutions to sums of 2-D convolutions in NHWC.

IREE has scalar code for 3-D convolutions. A window of depth 3 becomes three convolutions, one for
each plane of the window. Each reads the planes of the images that its window plane reads, and adds
to the result of the previous convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.tensor_ops import copied, padded, permuted, reshaped, sizes_of, transposed
from pipelines.ir.values import producer_named
from pipelines.iree.barriers import barrier
from pipelines.linalg_form.channels_last import padding_value

NAME = "linalg.conv_3d_ncdhw_fcdhw"
# Permutations from NCDHW to NDHWC and back, as `transposed` takes them.
_TO_LAST, _BACK = (0, 2, 3, 4, 1), (0, 4, 1, 2, 3)
# The planes of all volumes are the images of a 2-D convolution.
_PLANES = [[0, 1], [2], [3], [4]]

# Creates a 2-D convolution in NHWC. It takes the image, the weight of shape (f, c, p, q), the
# strides, the dilations, the type of the result, and a tensor to add or None for 0.
Convolve = Callable[
    [ir.Value, ir.Value, list[int], list[int], ir.RankedTensorType, ir.Value | None], ir.Value
]


def is_supported(operation: ir.Operation) -> bool:
    """Returns whether an operation is a 3-D convolution of f32 or f64 with static sizes."""
    if operation.name != NAME:
        return False
    kinds = [ir.RankedTensorType(operand.type) for operand in operation.operands]
    element = kinds[0].element_type
    return isinstance(element, ir.F32Type | ir.F64Type) and all(
        kind.has_static_shape and kind.element_type == element for kind in kinds
    )


def convolve_planes(operation: ir.Operation, init: ir.Value | None, convolve: Convolve) -> ir.Value:
    """Creates the convolutions of a 3-D convolution, and returns its result in NCDHW.

    Args:
        init: the tensor to add, in NCDHW; None for 0.
        convolve: creates a 2-D convolution.
    """
    image, weight, _ = operation.operands
    strides, dilations = (
        list(ir.DenseIntElementsAttr(operation.attributes[name]))
        for name in ("strides", "dilations")
    )
    kind = permuted(operation.results[0].type, _TO_LAST)
    images, depth, height, width, filters = kind.shape
    planes = [images * depth, height, width, filters]
    plane_kind = ir.RankedTensorType.get(planes, kind.element_type)
    _, _, window, *inner = sizes_of(weight)
    image = _to_last(image)
    _, _, *rows, channels = sizes_of(image)
    total = None if init is None else _planes_of(init, planes)
    for place in range(window):
        read = _sliced(
            image,
            [0, place * dilations[0], 0, 0, 0],
            [images, depth, *rows, channels],
            [1, strides[0], 1, 1, 1],
        )
        read = reshaped("tensor.collapse_shape", read, [images * depth, *rows, channels], _PLANES)
        own = _sliced(weight, [0, 0, place, 0, 0], [filters, channels, 1, *inner], [1] * 5)
        own = reshaped(
            "tensor.collapse_shape", own, [filters, channels, *inner], [[0], [1, 2], [3], [4]]
        )
        total = convolve(read, own, strides[1:], dilations[1:], plane_kind, total)
    return transposed(
        reshaped("tensor.expand_shape", total, list(kind.shape), _PLANES),
        _BACK,
    )


def _to_last(image: ir.Value) -> ir.Value:
    """Returns an image in NDHWC."""
    pad = producer_named(image, "tensor.pad")
    if pad is not None:
        number = padding_value(pad)
        if number is not None and len(pad.operands) == 1:
            # A transposition after the padding would end up in the loops of the convolution.
            low, high = (
                [list(ir.DenseI64ArrayAttr(pad.attributes[name]))[axis] for axis in _TO_LAST]
                for name in ("static_low", "static_high")
            )
            return padded(transposed(pad.operands[0], _TO_LAST), low, high, number)
    # Without a barrier, so would this transposition.
    return barrier(transposed(image, _TO_LAST))


def _planes_of(init: ir.Value, planes: list[int]) -> ir.Value:
    """Returns the planes of a tensor in NHWC."""
    broadcast = producer_named(init, "linalg.broadcast")
    if broadcast is not None:
        added = list(ir.DenseI64ArrayAttr(broadcast.attributes["dimensions"]))
        if added == [0, 2, 3, 4]:
            dimensions = {"dimensions": ir.DenseI64ArrayAttr.get([0, 1, 2])}
            return copied("linalg.broadcast", planes, broadcast.operands[0], dimensions)
    return reshaped("tensor.collapse_shape", transposed(init, _TO_LAST), planes, _PLANES)


def _sliced(
    value: ir.Value, offsets: Sequence[int], sizes: Sequence[int], strides: Sequence[int]
) -> ir.Value:
    array = ir.DenseI64ArrayAttr.get
    kind = ir.RankedTensorType(value.type)
    return ir.Operation.create(
        "tensor.extract_slice",
        [ir.RankedTensorType.get(list(sizes), kind.element_type)],
        [value],
        {
            "static_offsets": array(list(offsets)),
            "static_sizes": array(list(sizes)),
            "static_strides": array(list(strides)),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    ).result
