"""Lowerings of QuantizeLinear and DequantizeLinear to operators of `quantized_decomposed`.

`importers.integer` reads these operators. The usual lowerings compute the same in floating point.
"""

from __future__ import annotations

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed

from importers.onnx.element_types import code_of, dtype_of
from importers.onnx.node import Node
from importers.onnx.operators.quantization import dequantize_linear, quantize_linear
from importers.onnx.registry import Lowering

Tensor = torch.Tensor
_operators = torch.ops.quantized_decomposed
# Of these, PyTorch has quantize operators.
_INTEGERS = (torch.int8, torch.uint8, torch.int16, torch.int32)
_UINT8 = 2


def _quantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    code = node.get("output_dtype", 0) or _UINT8
    if zero is not None:
        code = node.type_of(2) or code_of(zero.dtype)
    dtype = dtype_of(code, node.operator)
    if node.get("precision", 0) or not _is_expressible(node, scale, x.dtype, dtype):
        return quantize_linear(node, x, scale, zero)
    limits = torch.iinfo(dtype)
    if scale.numel() == 1:
        grid = _single(node)
        return _operators.quantize_per_tensor(x, *grid, limits.min, limits.max, dtype)
    grid = *_per_channel(scale, zero), node.get("axis", 1) % x.dim()
    return _operators.quantize_per_channel(x, *grid, limits.min, limits.max, dtype)


def _dequantize(node: Node, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
    if node.get("output_dtype", 0) or not _is_expressible(node, scale, scale.dtype, x.dtype):
        return dequantize_linear(node, x, scale, zero)
    limits = torch.iinfo(x.dtype)
    if scale.numel() == 1:
        grid = _single(node)
        return _operators.dequantize_per_tensor(x, *grid, limits.min, limits.max, x.dtype)
    grid = *_per_channel(scale, zero), node.get("axis", 1) % x.dim()
    return _operators.dequantize_per_channel(x, *grid, limits.min, limits.max, x.dtype)


def _is_expressible(node: Node, scale: Tensor, number: torch.dtype, integer: torch.dtype) -> bool:
    """Returns whether `quantized_decomposed` has this form of the operator."""
    if scale.numel() == 1:
        values = [each for each in node.values[1:3] if each is not None]
        if not all(each.known for each in values):
            return False
    return (
        number == scale.dtype == torch.float32
        and integer in _INTEGERS
        and not node.get("block_size", 0)
    )


def _single(node: Node) -> tuple[float, int]:
    return float(node.number(1)), int(node.number(2, 0))


def _per_channel(scale: Tensor, zero: Tensor | None) -> tuple[Tensor, Tensor]:
    points = torch.zeros_like(scale) if zero is None else zero
    return scale, points.to(torch.int64)


LOWERINGS: dict[tuple[str, str], Lowering] = {
    ("", "QuantizeLinear"): _quantize,
    ("", "DequantizeLinear"): _dequantize,
}
