"""Computes the layers of `torch.ao.nn.quantized` with integers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import torch
from torch.ao.nn import quantized
from torch.ao.nn.intrinsic import quantized as fused
from torch.nn import functional

from importers import integer_operators  # noqa: F401 (defines integer_convolution)
from importers.quantized.quantized_tensor import unsupported
from importers.quantized.values import LEAST_SIGNED, LOWEST, Integers, rounded, rounded_at


def integer_layers(model: torch.nn.Module) -> contextlib.AbstractContextManager[None]:
    """Makes the quantized layers of `model` take and return `Integers`, in the `with` block."""
    return replaced_layers(model, _PREPARED, _LAYERS, _OPERATIONS)


@contextlib.contextmanager
def replaced_layers(
    model: torch.nn.Module,
    prepared: Mapping[type, Callable[[Any], Callable[..., Any]]],
    methods: Mapping[type, Callable[..., Any]],
    operations: Mapping[str, Callable[..., Any]],
) -> Iterator[None]:
    """Replaces the methods of the quantized layers of `model`, in the `with` block.

    Args:
        prepared: by the class of a layer: a function that returns the new `forward` of a layer.
        methods: by the class of a layer: the new `forward`, whose first argument is the layer.
        operations: the same for the methods of `QFunctional`, by name.
    """
    with contextlib.ExitStack() as stack:

        def exchange(layer: Any, name: str, method: Callable[..., Any]) -> None:
            stack.enter_context(mock.patch.object(layer, name, method))

        packed: list[Any] = []
        for name, layer in model.named_modules():
            kind = type(layer)
            if isinstance(layer.__dict__.get("_packed_params"), torch.ScriptObject):
                # torch.export reads all attributes, and does not support such an object.
                packed.append(layer)
            if ".quantized." not in kind.__module__ or name.endswith("_packed_params"):
                continue
            if kind is quantized.QFunctional:
                for operation, method in operations.items():
                    exchange(layer, operation, functools.partial(method, layer))
            elif kind in prepared:
                # Read packed weights and tensors now: they have no values during the trace.
                exchange(layer, "forward", prepared[kind](layer))
            elif kind in methods:
                exchange(layer, "forward", functools.partial(methods[kind], layer))
            else:
                exchange(layer, "forward", functools.partial(_refuse, kind.__name__))
        for layer in packed:
            exchange(layer, "_packed_params", None)
        yield


def _refuse(kind: str, *_args: Any, **_kwargs: Any) -> None:
    raise unsupported(kind)


class _Product:
    """A convolution or linear layer, which sums products in i32 and then scales each channel."""

    def __init__(self, layer: Any, *, relu: bool):
        weight, bias = layer.weight(), layer.bias()
        self._per_channel = weight.qscheme() in (
            torch.per_channel_affine,
            torch.per_channel_affine_float_qparams,
        )
        scales = weight.q_per_channel_scales() if self._per_channel else weight.q_scale()
        self._weight_scales = torch.as_tensor(scales, dtype=torch.float32)
        zero = weight.q_per_channel_zero_points() if self._per_channel else weight.q_zero_point()
        zero = torch.as_tensor(zero, dtype=torch.int32).reshape(-1, *[1] * (weight.dim() - 1))
        # Weights are i8, with the zero point 0 in all observers' default settings.
        integers = weight.int_repr().contiguous()
        is_centered = integers.dtype == torch.int8 and not zero.any()
        self._weight = integers if is_centered else integers.to(torch.int32) - zero
        self._bias = None if bias is None else bias.detach()
        self._scale, self._zero_point = float(layer.scale), int(layer.zero_point)
        self._relu = relu

    def _sums(
        self,
        x: Integers,
        weight: torch.Tensor,
        stride: list[int],
        padding: list[int],
        dilation: list[int],
        groups: int,
    ) -> torch.Tensor:
        """Returns the sums of products of a convolution, i32."""
        if weight.dtype == torch.int8:
            points = [x.zero_point + LEAST_SIGNED, 0]
            return torch.ops.unmess.integer_convolution(
                x.signed, weight, None, points, stride, padding, dilation, groups
            )
        return torch.ops.aten.convolution(
            x.centered, weight, None, stride, padding, dilation, False, [0, 0], groups
        )

    def _scaled(self, x: Integers, sums: torch.Tensor) -> Integers:
        unit = self._weight_scales * x.scale
        channels = [1, -1] + [1] * (sums.dim() - 2)
        values = sums.to(torch.float32)
        if self._bias is not None:
            bias = self._bias / unit
            # FBGEMM, with a scale per channel, adds the bias without rounding. QNNPACK rounds it.
            values = values + (bias if self._per_channel else torch.round(bias)).reshape(channels)
        factor = (unit / self._scale).reshape(channels if self._per_channel else [])
        lowest = self._zero_point if self._relu else LOWEST
        return rounded(values * factor, self._scale, self._zero_point, lowest)


class _Convolution(_Product):
    def __init__(self, layer: Any, *, relu: bool):
        super().__init__(layer, relu=relu)
        options = layer.stride, layer.padding, layer.dilation
        self._options = [*map(list, options), layer.groups]

    def __call__(self, x: Integers) -> Integers:
        return self._scaled(x, self._sums(x, self._weight, *self._options))


class _Linear(_Product):
    def __call__(self, x: Integers) -> Integers:
        # Use a convolution, because every output dialect has one of integers.
        image = x.like(x.elements[:, :, None, None])
        kernel = self._weight[:, :, None, None]
        sums = self._sums(image, kernel, [1, 1], [0, 0], [1, 1], 1)
        return self._scaled(x, sums.flatten(1))


def _quantize(layer: Any) -> Callable[[torch.Tensor], Integers]:
    # In this layer and in hardswish, these are buffers, which have no values during the trace.
    scale, zero_point = float(layer.scale), int(layer.zero_point)
    return lambda x: Integers.of(x, scale, zero_point)


def _dequantize(_layer: Any, x: Integers) -> torch.Tensor:
    return x.numbers()


def _dropout(_layer: Any, x: Integers) -> Integers:
    return x


def _hardswish(layer: Any) -> Callable[[Integers], Integers]:
    scale, zero_point = float(layer.scale), int(layer.zero_point)
    return lambda x: rounded_at(functional.hardswish(x.fused_numbers()), scale, zero_point)


def _at_scale_of(layer: Any) -> tuple[float, int]:
    return float(layer.scale), int(layer.zero_point)


def _add(layer: Any, x: Integers, y: Integers) -> Integers:
    return rounded_at(x.fused_numbers() + y.fused_numbers(), *_at_scale_of(layer))


def _add_relu(layer: Any, x: Integers, y: Integers) -> Integers:
    return rounded_at(torch.relu(x.fused_numbers() + y.fused_numbers()), *_at_scale_of(layer))


def _mul(layer: Any, x: Integers, y: Integers) -> Integers:
    scale, zero_point = _at_scale_of(layer)
    unit = torch.tensor(x.scale) * torch.tensor(y.scale) * (1.0 / torch.tensor(scale))
    return rounded((x.centered * y.centered).to(torch.float32) * unit.item(), scale, zero_point)


def _cat(layer: Any, parts: Sequence[Integers], dim: int = 0) -> Integers:
    return Integers.of(torch.cat([part.numbers() for part in parts], dim), *_at_scale_of(layer))


_OPERATIONS = {"add": _add, "add_relu": _add_relu, "mul": _mul, "cat": _cat}
_PREPARED = {
    quantized.Quantize: _quantize,
    quantized.Hardswish: _hardswish,
    quantized.Conv2d: functools.partial(_Convolution, relu=False),
    fused.ConvReLU2d: functools.partial(_Convolution, relu=True),
    quantized.Linear: functools.partial(_Linear, relu=False),
    fused.LinearReLU: functools.partial(_Linear, relu=True),
}
_LAYERS = {
    quantized.DeQuantize: _dequantize,
    quantized.Dropout: _dropout,
}
