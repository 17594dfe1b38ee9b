"""Lowerings of quantized operators."""

from __future__ import annotations

import torch

from importers.onnx.element_types import FLOAT4, NARROW, code_of, dtype_of
from importers.onnx.node import Node
from importers.onnx.operators.casts import converted
from importers.onnx.operators.convolution import integer_convolution
from importers.onnx.operators.matrices import unfolded_zero_point
from importers.onnx.registry import operator

Tensor = torch.Tensor


def _spread(parameter: Tensor, x: Tensor, node: Node) -> Tensor:
    """Broadcasts a scale or zero point to `x`: per tensor, per axis, or per block along an axis."""
    axis = node.get("axis", 1)
    block = node.get("block_size", 0)
    if parameter.numel() == 1 and not block:
        return parameter.reshape(())
    if block:
        axis = axis % x.dim()
        return parameter.repeat_interleave(block, axis).narrow(axis, 0, x.shape[axis])
    return parameter.reshape([-1 if i == axis % x.dim() else 1 for i in range(x.dim())])


def _range(code: int) -> tuple[int, int]:
    if code in NARROW:
        return NARROW[code]
    limits = torch.iinfo(dtype_of(code, "quantized values"))
    return limits.min, limits.max


def rounded(x: Tensor, zero: Tensor | int, code: int) -> Tensor:
    """Rounds floats, adds the zero point, and clamps to the range of an integer type."""
    low, high = _range(code)
    moved = torch.round(x) + (zero.to(x.dtype) if isinstance(zero, Tensor) else zero)
    return moved.clamp(low, high).to(torch.int32).to(dtype_of(code, "quantized values"))


@operator("QuantizeLinear")
def quantize_linear(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """Lowers `QuantizeLinear`: x / scale + zero point, rounded half to even and clamped."""
    if zero is not None:
        code = node.type_of(2) or code_of(zero.dtype)
    else:
        code = node.get("output_dtype", 0) or 2
    precision = node.get("precision", 0)
    kind = dtype_of(precision, node.operator) if precision else None
    if kind is None:
        kind = torch.promote_types(x.dtype if x.is_floating_point() else torch.float32, scale.dtype)
    quotient = x.to(kind) / _spread(scale, x, node).to(kind)
    if not dtype_of(code, node.operator).is_floating_point:
        wide = quotient.to(torch.float32)
        return rounded(wide, 0 if zero is None else _spread(zero, x, node), code)
    if code == FLOAT4 and zero is not None:
        quotient = quotient + _spread(zero, x, node)
    return converted(quotient, code, bool(node.get("saturate", 1)), node)


@operator("DequantizeLinear")
def dequantize_linear(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    """Lowers `DequantizeLinear`: (x - zero point) scale."""
    value = x.to(torch.float32)
    if zero is not None and not zero.is_floating_point():
        wide = torch.int64 if x.dtype == torch.uint32 else torch.int32
        value = (x.to(wide) - _spread(zero, x, node).to(wide)).to(torch.float32)
    code = node.get("output_dtype", 0)
    kind = dtype_of(code, node.operator) if code else scale.dtype
    return (value * _spread(scale, x, node)).to(kind)


@operator("DynamicQuantizeLinear")
def dynamic_quantize_linear(_node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Lowers `DynamicQuantizeLinear`: quantizes to uint8 by the range of the values."""
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    scale = (high - low) / 255
    # If all values are 0, any divisor is right.
    divisor = torch.where(scale == 0, torch.ones_like(scale), scale)
    zero = torch.round((-low / divisor).clamp(0, 255))
    quantized = (torch.round(x / divisor) + zero).clamp(0, 255)
    return _byte(quantized), scale, _byte(zero)


def _byte(x: Tensor) -> Tensor:
    return x.to(torch.int32).to(torch.uint8)


@operator("QLinearMatMul")
def q_linear_mat_mul(
    node: Node,
    a: Tensor,
    a_scale: Tensor,
    a_zero: Tensor,
    b: Tensor,
    b_scale: Tensor,
    b_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
) -> Tensor:
    """Lowers `QLinearMatMul`: multiplies quantized matrices and requantizes the product."""
    if b.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        raise node.refuse("of 8-bit floats")
    product = torch.matmul(
        a.to(torch.int32) - unfolded_zero_point(a_zero, a.dim(), -2),
        b.to(torch.int32) - unfolded_zero_point(b_zero, b.dim(), -1),
    )
    factor = _row(a_scale, a.dim(), -2) * _row(b_scale, b.dim(), -1) / y_scale
    wide = torch.float32 if factor.dtype != torch.float64 else torch.float64
    scaled = product.to(torch.float64) * factor.to(wide).to(torch.float64)
    return rounded(scaled, _row(y_zero, product.dim(), -2), code_of(y_zero.dtype))


def _row(x: Tensor, rank: int, axis: int) -> Tensor:
    if x.dim() == 1 and x.shape[0] != 1:
        return x.reshape([-1 if i == axis % rank else 1 for i in range(rank)])
    return x.reshape(()) if x.numel() == 1 else x


@operator("QLinearConv")
def q_linear_conv(
    node: Node,
    x: Tensor,
    x_scale: Tensor,
    x_zero: Tensor,
    w: Tensor,
    w_scale: Tensor,
    w_zero: Tensor,
    y_scale: Tensor,
    y_zero: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """Lowers `QLinearConv`: convolves quantized tensors and requantizes the result."""
    product = integer_convolution(node, x, w, x_zero, w_zero)
    if bias is not None:
        product = product + bias.reshape(-1, *[1] * (x.dim() - 2))
    factor = _row(x_scale * w_scale / y_scale, x.dim(), 1)
    scaled = product.to(torch.float64) * factor.to(torch.float64)
    return rounded(scaled, _row(y_zero, x.dim(), 1), code_of(y_zero.dtype))
