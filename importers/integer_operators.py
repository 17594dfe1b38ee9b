"""The operators of integer programs that PyTorch does not have, with their exact results.

Tensors of 8 bits are i8 or u8. Sums are i32, and wrap around as they do in the lowerings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch

_library = torch.library.Library("unmess", "FRAGMENT")
# The bits of a multiplier, and TOSA's bounds of a shift.
_BITS = 31
_LEAST_SHIFT, _LARGEST_SHIFT = 2, 62


def fixed_point(scale: float) -> tuple[int, int]:
    """Returns the multiplier and the shift of a positive number: `multiplier * 2**-shift`.

    The multiplier is in [2**30, 2**31), and the relative error at most 2**-31, unless the number is
    below 2**-32.

    Raises:
        OverflowError: the number is 2**29 or more, or not positive.
    """
    if not 0 < scale < 2.0 ** (_BITS - _LEAST_SHIFT):
        raise OverflowError(f"no multiplier of 32 bits for the scale {scale}")
    mantissa, exponent = math.frexp(scale)
    multiplier, shift = round(mantissa * 2**_BITS), _BITS - exponent
    if multiplier == 2**_BITS:
        multiplier, shift = multiplier // 2, shift - 1
    if shift > _LARGEST_SHIFT:
        multiplier, shift = multiplier >> (shift - _LARGEST_SHIFT), _LARGEST_SHIFT
    return multiplier, shift


def _convolution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    zero_points: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> torch.Tensor:
    # Sums of products of 9-bit integers are exact in f64.
    centered = x.double() - zero_points[0], weight.double() - zero_points[1]
    sums = torch.nn.functional.conv2d(*centered, None, stride, padding, dilation, groups).long()
    return (sums if bias is None else sums + bias.reshape(-1, 1, 1)).int()


def _max_pool(
    x: torch.Tensor,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> torch.Tensor:
    # PyTorch's kernel for i8 rejects large images in channels-last order.
    return torch.nn.functional.max_pool2d(x.float(), window, stride, padding, dilation).to(x.dtype)


def _matmul(
    a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor | None, zero_points: Sequence[int]
) -> torch.Tensor:
    sums = ((a.double() - zero_points[0]) @ (b.double() - zero_points[1])).long()
    return (sums if bias is None else sums + bias).int()


def _rescale(
    x: torch.Tensor,
    multiplier: torch.Tensor,
    shift: torch.Tensor,
    axis: int,
    zero_points: Sequence[int],
    dtype: torch.dtype,
) -> torch.Tensor:
    shape = [-1 if each == axis else 1 for each in range(x.dim())] if axis >= 0 else []
    factor, bits = multiplier.long().reshape(shape), shift.long().reshape(shape)
    half = torch.ones_like(bits) << (bits - 1)
    scaled = ((x.long() - zero_points[0]) * factor + half) >> bits
    if dtype == torch.int32:
        return (scaled + zero_points[1]).to(dtype)
    bounds = torch.iinfo(dtype)
    return (scaled + zero_points[1]).clamp(bounds.min, bounds.max).to(dtype)


def _table(x: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return values[x.long() - torch.iinfo(x.dtype).min]


def _convolution_shape(x, weight, bias, zero_points, stride, padding, dilation, groups):
    sizes = _windows(x.shape[2:], weight.shape[2:], stride, padding, dilation)
    return x.new_empty(x.shape[0], weight.shape[0], *sizes, dtype=torch.int32)


def _max_pool_shape(x, window, stride, padding, dilation):
    return x.new_empty(*x.shape[:2], *_windows(x.shape[2:], window, stride, padding, dilation))


def _windows(sizes, window, stride, padding, dilation):
    """Returns the number of windows along each axis of an image."""
    return [
        (size + 2 * pad - step * (width - 1) - 1) // jump + 1
        for size, width, jump, pad, step in zip(
            sizes, window, stride, padding, dilation, strict=True
        )
    ]


def _matmul_shape(a, b, bias, zero_points):
    return a.new_empty(*a.shape[:-1], b.shape[-1], dtype=torch.int32)


def _rescale_shape(x, multiplier, shift, axis, zero_points, dtype):
    return torch.empty_like(x, dtype=dtype)


def _table_shape(x, values):
    return torch.empty_like(x, dtype=values.dtype)


def _define(schema: str, compute: Callable[..., object], shape: Callable[..., object]) -> None:
    _library.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
    name = schema.partition("(")[0]
    _library.impl(name, compute, "CompositeExplicitAutograd")
    _library._register_fake(name, shape)


# The 8-bit convolution in two dimensions, NCHW, into sums of 32 bits. The zero points are those of
# the operands; padding has the value 0, so its integer is the zero point.
_define(
    "integer_convolution(Tensor x, Tensor weight, Tensor? bias, int[] zero_points, "
    "SymInt[] stride, SymInt[] padding, SymInt[] dilation, int groups) -> Tensor",
    _convolution,
    _convolution_shape,
)
# The largest 8-bit integer of each window of images, NCHW.
_define(
    "integer_max_pool(Tensor x, SymInt[] window, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation) -> Tensor",
    _max_pool,
    _max_pool_shape,
)
# The 8-bit product of two matrices, or of two batches of matrices, into sums of 32 bits.
_define(
    "integer_matmul(Tensor a, Tensor b, Tensor? bias, int[] zero_points) -> Tensor",
    _matmul,
    _matmul_shape,
)
# `(x - zero_points[0]) * multiplier * 2**-shift + zero_points[1]`, rounded half up, and clamped to
# the range of 8 bits. `multiplier` (i32) and `shift` (i8) have an element for each channel of
# `axis`, or one if `axis` is -1.
_define(
    "rescale(Tensor x, Tensor multiplier, Tensor shift, int axis, int[] zero_points, "
    "ScalarType dtype) -> Tensor",
    _rescale,
    _rescale_shape,
)
# A table lookup for 8-bit integers: `values` has the 256 results, that of the least integer first.
_define("table(Tensor x, Tensor values) -> Tensor", _table, _table_shape)

convolution = torch.ops.unmess.integer_convolution.default
max_pool = torch.ops.unmess.integer_max_pool.default
matmul = torch.ops.unmess.integer_matmul.default
rescale = torch.ops.unmess.rescale.default
table = torch.ops.unmess.table.default
