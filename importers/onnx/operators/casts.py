"""Conversions of element types."""

from __future__ import annotations

import torch

from importers.onnx.element_types import FLOAT4, NARROW, code_of, dtype_of
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
_FLOAT8 = (
    torch.float8_e4m3fn,
    torch.float8_e4m3fnuz,
    torch.float8_e5m2,
    torch.float8_e5m2fnuz,
)
# The largest number that rounds to the largest finite value, 448.
_BEYOND_E4M3FN = 464.0
_LARGEST_FLOAT4 = 6.0


@operator("Cast")
def cast(node: Node, x: Tensor) -> Tensor:
    """Lowers `Cast`: converts to the type that an attribute names."""
    return converted(x, node.get("to"), bool(node.get("saturate", 1)), node)


@operator("CastLike")
def cast_like(node: Node, x: Tensor, like: Tensor) -> Tensor:
    """Lowers `CastLike`: converts to the type of another tensor."""
    code = node.type_of(1) or code_of(like.dtype)
    return converted(x, code, bool(node.get("saturate", 1)), node)


@operator("BitCast")
def bit_cast(node: Node, x: Tensor) -> Tensor:
    """Lowers `BitCast`: reinterprets the bits as another type of the same width."""
    return x.view(dtype_of(node.get("to"), node.operator))


def converted(x: Tensor, code: int, saturate: bool, node: Node) -> Tensor:
    """Converts elements to an ONNX type.

    Args:
        code: the ONNX element type.
        saturate: whether numbers out of the range of an 8-bit float become its largest one.
    """
    dtype = dtype_of(code, node.operator)
    if dtype == torch.float8_e8m0fnu:
        return _power_of_two(x, node)
    if x.dtype == torch.float8_e8m0fnu:
        return _from_power_of_two(x).to(dtype)
    if code in NARROW:
        return _narrow_integer(x, *NARROW[code]).to(dtype)
    if code == FLOAT4:
        return float4(x.to(torch.float32))
    if dtype in _FLOAT8:
        x = x.to(torch.float64) if x.dtype == torch.float64 else x.to(torch.float32)
        if saturate:
            largest = torch.finfo(dtype).max
            x = x.clamp(-largest, largest)
        elif dtype == torch.float8_e4m3fn:
            # PyTorch saturates here; ONNX requires NaN.
            x = torch.where(x.abs() > _BEYOND_E4M3FN, float("nan"), x)
        return x.to(dtype)
    if dtype == torch.bool and x.dtype in _FLOAT8:
        return x.to(torch.float32) != 0
    if x.dtype in _FLOAT8 and not dtype.is_floating_point:
        return x.to(torch.float32).to(dtype)
    return x.to(dtype)


def float4(x: Tensor) -> Tensor:
    """Rounds to 4-bit floats (0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives)."""
    size = x.abs()
    step = torch.where(size < 2, 0.5, torch.where(size < 4, 1.0, 2.0))
    rounded = torch.copysign((torch.round(size / step) * step).clamp(max=_LARGEST_FLOAT4), x)
    # The type has no NaN. The package onnx converts NaN to -0.
    return torch.where(torch.isnan(x), -0.0, rounded)


def _narrow_integer(x: Tensor, low: int, high: int) -> Tensor:
    """Wraps integers to the range of a narrow type, by their lowest bits."""
    return ((x.to(torch.int32) - low) & (high - low)) + low


def _from_power_of_two(x: Tensor) -> Tensor:
    """Decodes float8_e8m0fnu to float32: powers of two from 2^-127, and NaN."""
    exponent = x.view(torch.uint8).to(torch.int32)
    # 2^-127 is subnormal in float32.
    bits = torch.where(exponent == 0, 1 << 22, exponent << 23)
    value = bits.view(torch.float32)
    return torch.where(exponent == 255, torch.full((), float("nan")), value)


def _power_of_two(x: Tensor, node: Node) -> Tensor:
    """Encodes positive numbers as float8_e8m0fnu exponents, rounded by `round_mode`."""
    mode = node.get("round_mode", "up")
    bits = x.to(torch.float32).view(torch.int32)
    exponent, fraction = (bits >> 23) & 255, bits & ((1 << 23) - 1)
    if mode == "up":
        more = (fraction > 0) & ~((exponent == 0) & (fraction <= 1 << 22))
    elif mode == "nearest":
        more = (fraction >= 1 << 22) & ((exponent > 0) | (fraction > 1 << 22))
    else:
        more = torch.zeros_like(fraction, dtype=torch.bool)
    rounded = exponent + more.to(torch.int32)
    if node.get("saturate", 1):
        rounded = torch.where(exponent == 255, rounded, rounded.clamp(max=254))
    rounded = torch.where(torch.isnan(x.to(torch.float32)), 255, rounded.clamp(max=255))
    return rounded.to(torch.uint8).view(torch.float8_e8m0fnu)
