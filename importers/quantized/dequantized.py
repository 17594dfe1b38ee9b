"""Computes the layers of `torch.ao.nn.quantized` in floating point, between quantize operators.

The captured graph has operators of `quantized_decomposed` where the model has quantized tensors.
`importers.integer` makes an integer program of it.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from torch.ao.nn import quantized
from torch.ao.nn.intrinsic import quantized as fused
from torch.nn import functional

from importers.quantized.layers import replaced_layers
from importers.quantized.quantized_tensor import QuantizedTensor, unsupported
from importers.quantized.values import HIGHEST, LOWEST

_operators = torch.ops.quantized_decomposed


def dequantized_layers(model: torch.nn.Module) -> contextlib.AbstractContextManager[None]:
    """Makes the quantized layers of `model` take and return `Dequantized`, in the `with` block."""
    return replaced_layers(model, _PREPARED, _LAYERS, _OPERATIONS)


class Dequantized(QuantizedTensor):
    """The numbers that a quint8 tensor represents.

    Attributes:
        elements: f32, the result of a dequantize operator.
    """

    @classmethod
    def of(cls, numbers: torch.Tensor, scale: float, zero_point: int) -> Dequantized:
        """Returns the nearest representable numbers to `numbers`."""
        grid = scale, zero_point, LOWEST, HIGHEST, torch.uint8
        integers = _operators.quantize_per_tensor(numbers, *grid)
        return cls(_operators.dequantize_per_tensor(integers, *grid), scale, zero_point)

    def rounded(self, numbers: torch.Tensor) -> Dequantized:
        """Returns the nearest numbers on the same scale."""
        return Dequantized.of(numbers, self.scale, self.zero_point)

    def dequantize(self) -> torch.Tensor:
        """See `torch.Tensor.dequantize`."""
        return self.elements

    def mean(self, axes: list[int]) -> Dequantized:
        """Returns the mean over `axes`, on the same scale, as for a quantized tensor."""
        return self.rounded(self.elements.mean(axes))

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Calls a function of PyTorch on the numbers."""
        x, *others = args
        if function in _MOVES:
            return x.like(function(x.elements, *others, **(kwargs or {})))
        if function in _AVERAGES:
            return x.rounded(function(x.elements, *others, **(kwargs or {})))
        if function is functional.hardsigmoid:
            # The results are from 0 to 1, so their scale does not depend on that of the operand.
            return Dequantized.of(functional.hardsigmoid(x.elements), 1 / 256, 0)
        raise unsupported(f"{getattr(function, '__name__', function)}")


_MOVES = (
    torch.flatten,
    torch.transpose,
    torch.max_pool2d,
    functional.max_pool2d,
    functional.relu,
    torch.relu,
)
_AVERAGES = (functional.adaptive_avg_pool2d, functional.avg_pool2d)


class _Layer:
    """A convolution or linear layer."""

    def __init__(self, layer: Any, compute: Callable[..., torch.Tensor], *, relu: bool):
        weight, bias = layer.weight(), layer.bias()
        if weight.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            self._grid = weight.q_scale(), weight.q_zero_point()
        else:
            points = weight.q_per_channel_zero_points().to(torch.int64)
            self._grid = weight.q_per_channel_scales().to(torch.float32), points, 0
        self._weight = weight.int_repr().contiguous()
        self._bias = None if bias is None else bias.detach()
        self._scale = float(layer.scale), int(layer.zero_point)
        self._compute, self._relu = compute, relu

    def __call__(self, x: Dequantized) -> Dequantized:
        dequantize = (
            _operators.dequantize_per_channel
            if len(self._grid) == 3
            else _operators.dequantize_per_tensor
        )
        weight = dequantize(self._weight, *self._grid, -128, 127, torch.int8)
        y = self._compute(x.elements, weight, self._bias)
        return Dequantized.of(torch.relu(y) if self._relu else y, *self._scale)


def _convolution(layer: Any, *, relu: bool) -> _Layer:
    def compute(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        return functional.conv2d(
            x, weight, bias, layer.stride, layer.padding, layer.dilation, layer.groups
        )

    return _Layer(layer, compute, relu=relu)


def _linear(layer: Any, *, relu: bool) -> _Layer:
    return _Layer(layer, functional.linear, relu=relu)


def _quantize(layer: Any) -> Callable[[torch.Tensor], Dequantized]:
    # These are buffers, which have no values during the trace.
    grid = float(layer.scale), int(layer.zero_point)
    return lambda x: Dequantized.of(x, *grid)


def _hardswish(layer: Any) -> Callable[[Dequantized], Dequantized]:
    grid = float(layer.scale), int(layer.zero_point)
    return lambda x: Dequantized.of(functional.hardswish(x.elements), *grid)


def _dequantize(_layer: Any, x: Dequantized) -> torch.Tensor:
    return x.elements


def _dropout(_layer: Any, x: Dequantized) -> Dequantized:
    return x


def _at_scale_of(layer: Any, numbers: torch.Tensor) -> Dequantized:
    return Dequantized.of(numbers, float(layer.scale), int(layer.zero_point))


def _add(layer: Any, x: Dequantized, y: Dequantized) -> Dequantized:
    return _at_scale_of(layer, x.elements + y.elements)


def _add_relu(layer: Any, x: Dequantized, y: Dequantized) -> Dequantized:
    return _at_scale_of(layer, torch.relu(x.elements + y.elements))


def _mul(layer: Any, x: Dequantized, y: Dequantized) -> Dequantized:
    return _at_scale_of(layer, x.elements * y.elements)


def _cat(layer: Any, parts: Sequence[Dequantized], dim: int = 0) -> Dequantized:
    return _at_scale_of(layer, torch.cat([part.elements for part in parts], dim))


_OPERATIONS = {"add": _add, "add_relu": _add_relu, "mul": _mul, "cat": _cat}
_PREPARED = {
    quantized.Quantize: _quantize,
    quantized.Hardswish: _hardswish,
    quantized.Conv2d: functools.partial(_convolution, relu=False),
    fused.ConvReLU2d: functools.partial(_convolution, relu=True),
    quantized.Linear: functools.partial(_linear, relu=False),
    fused.LinearReLU: functools.partial(_linear, relu=True),
}
_LAYERS = {
    quantized.DeQuantize: _dequantize,
    quantized.Dropout: _dropout,
}
