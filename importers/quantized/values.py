"""Quantized tensors as integers, and the functions that models call on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from importers.quantized.quantized_tensor import QuantizedTensor, unsupported

# The range of quint8, the type of all activations.
LOWEST, HIGHEST = 0, 255
# What makes signed bytes of them.
LEAST_SIGNED = -128


class Integers(QuantizedTensor):
    """A quint8 tensor, which represents the numbers `(elements - zero_point) * scale`.

    Attributes:
        elements: i32, from 0 to 255.
    """

    @classmethod
    def of(cls, numbers: torch.Tensor, scale: float, zero_point: int) -> Integers:
        """Returns the nearest representable numbers to `numbers` (f32)."""
        return nearest(numbers, (1.0 / torch.tensor(scale)).item(), scale, zero_point)

    @property
    def centered(self) -> torch.Tensor:
        """The values minus the zero point, i32."""
        return self.elements - self.zero_point

    @property
    def signed(self) -> torch.Tensor:
        """The elements minus 128, i8."""
        return (self.elements + LEAST_SIGNED).to(torch.int8)

    def numbers(self) -> torch.Tensor:
        """Returns the represented numbers, f32."""
        return self.centered.to(torch.float32) * self.scale

    def fused_numbers(self) -> torch.Tensor:
        """Returns the numbers (f32) by one fused multiply-add, as PyTorch's vector kernels do.

        It is computed in f64, where the product is exact, and rounded to f32 at the end.
        """
        scale = torch.tensor(self.scale)
        offset = (scale * -self.zero_point).item()
        return (self.elements.to(torch.float64) * scale.item() + offset).to(torch.float32)

    def dequantize(self) -> torch.Tensor:
        """See `torch.Tensor.dequantize`."""
        return self.numbers()

    def mean(self, axes: list[int]) -> Integers:
        """Returns the mean over `axes`, with the same scale, as for a quantized tensor."""
        return self._averaged(self.centered.to(torch.float32).mean(axes))

    def _averaged(self, sums: torch.Tensor, factor: float = 1.0) -> Integers:
        return nearest(sums, factor, self.scale, self.zero_point)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Calls the integer implementation of a function of PyTorch."""
        implementation = _FUNCTIONS.get(function)
        if implementation is None:
            raise unsupported(f"{getattr(function, '__name__', function)}")
        return implementation(*args, **(kwargs or {}))


def nearest(numbers: torch.Tensor, factor: float, scale: float, zero_point: int) -> Integers:
    """Returns the integers nearest to `numbers * factor + zero_point` (f32), rounded to even.

    PyTorch's vector kernels add the zero point before they round, by a fused multiply-add. In f64,
    the product is exact, and the sum is rounded once.
    """
    moved = (numbers.to(torch.float64) * factor + zero_point).to(torch.float32)
    values = torch.round(moved).to(torch.int32).clamp(LOWEST, HIGHEST)
    return Integers(values, scale, zero_point)


def rounded(
    centered: torch.Tensor, scale: float, zero_point: int, lowest: int = LOWEST
) -> Integers:  # fmt: skip
    """Rounds f32 values in units of `scale` to even, as PyTorch's matrix products do."""
    values = torch.round(centered).to(torch.int32) + zero_point
    return Integers(values.clamp(lowest, HIGHEST), scale, zero_point)


def rounded_at(numbers: torch.Tensor, scale: float, zero_point: int) -> Integers:
    """Rounds f32 numbers to even, before it adds the zero point.

    PyTorch's vector kernels of elementwise operators do the same. For numbers halfway between two
    integers and an odd zero point, the order changes the result.
    """
    return rounded(numbers * (1.0 / torch.tensor(scale)).item(), scale, zero_point)


def _on_values(function: Callable[..., torch.Tensor]) -> Callable[..., Integers]:
    """Wraps a function that only moves or compares values."""

    def call(x: Integers, *args: Any, **kwargs: Any) -> Integers:
        return x.like(function(x.elements, *args, **kwargs))

    return call


def _on_averages(function: Callable[..., torch.Tensor]) -> Callable[..., Integers]:
    """Wraps a function that averages, to compute in floating point as PyTorch's kernels do."""

    def call(x: Integers, *args: Any, **kwargs: Any) -> Integers:
        return x._averaged(function(x.centered.to(torch.float32), *args, **kwargs))

    return call


def _adaptive_avg_pool2d(x: Integers, output_size: Any) -> Integers:
    pixels = x.shape[-1] * x.shape[-2]
    if output_size not in (1, (1, 1), [1, 1]):
        raise unsupported("adaptive_avg_pool2d to more than one pixel")
    # The kernel multiplies by the inverse of an inverse, whose rounding changes some results.
    factor = 1 / (1 / (1 / torch.tensor(float(pixels))))
    sums = x.centered.sum((-2, -1), keepdim=True).to(torch.float32)
    return x._averaged(sums, factor.item())


def _max_pool2d(x: Integers, *args: Any, **kwargs: Any) -> Integers:
    # Every output dialect can pool floats, and floats represent 8-bit integers exactly.
    kwargs.pop("return_indices", None)
    pooled = functional.max_pool2d(x.elements.to(torch.float32), *args, **kwargs)
    return x.like(pooled.to(torch.int32))


def _hardsigmoid(x: Integers, inplace: bool = False) -> Integers:
    # The results are from 0 to 1, so their scale does not depend on that of the operand.
    return rounded_at(functional.hardsigmoid(x.fused_numbers()), 1 / 256, 0)


def _relu(x: Integers, inplace: bool = False) -> Integers:
    return x.like(x.elements.clamp(min=x.zero_point))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.flatten: _on_values(torch.flatten),
    torch.transpose: _on_values(torch.transpose),
    torch.max_pool2d: _max_pool2d,
    functional.max_pool2d: _max_pool2d,
    functional.adaptive_avg_pool2d: _adaptive_avg_pool2d,
    functional.avg_pool2d: _on_averages(functional.avg_pool2d),
    functional.hardsigmoid: _hardsigmoid,
    functional.relu: _relu,
    torch.relu: _relu,
}
