"""Quantised tensors as integers, and the functions that models call on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional

from unmess.core.error import Error

# Of quint8, the type of all activations.
LOWEST, HIGHEST = 0, 255


class Integers:
    """A quint8 tensor: what it stands for is `(values - zero_point) * scale`.

    Attributes:
        values: i32, from 0 to 255.
    """

    def __init__(self, values: torch.Tensor, scale: float, zero_point: int):
        self.values = values
        self.scale = scale
        self.zero_point = zero_point

    @classmethod
    def of(cls, numbers: torch.Tensor, scale: float, zero_point: int) -> Integers:
        """The nearest to `numbers`, f32."""
        return nearest(numbers, (1.0 / torch.tensor(scale)).item(), scale, zero_point)

    @property
    def shape(self) -> torch.Size:
        """As of a tensor."""
        return self.values.shape

    @property
    def centred(self) -> torch.Tensor:
        """i32, zero where the number is zero."""
        return self.values - self.zero_point

    def numbers(self) -> torch.Tensor:
        """f32."""
        return self.centred.to(torch.float32) * self.scale

    def fused_numbers(self) -> torch.Tensor:
        """f32, by one fused multiplication and addition, as the vector kernels of sums read them.

        In f64 the product and the sum are exact but for what f32 drops.
        """
        scale = torch.tensor(self.scale)
        offset = (scale * -self.zero_point).item()
        return (self.values.to(torch.float64) * scale.item() + offset).to(torch.float32)

    def like(self, values: torch.Tensor) -> Integers:
        """Other values of the same scale."""
        return Integers(values, self.scale, self.zero_point)

    def dequantize(self) -> torch.Tensor:
        """As of a quantised tensor."""
        return self.numbers()

    def size(self, *axis: int) -> Any:
        """As of a tensor."""
        return self.values.size(*axis)

    def dim(self) -> int:
        """As of a tensor."""
        return self.values.dim()

    def view(self, *shape: int) -> Integers:
        """As of a tensor."""
        return self.like(self.values.view(*shape))

    def contiguous(self) -> Integers:
        """As of a tensor."""
        return self.like(self.values.contiguous())

    def chunk(self, count: int, dim: int = 0) -> tuple[Integers, ...]:
        """As of a tensor."""
        return tuple(self.like(part) for part in self.values.chunk(count, dim))

    def mean(self, axes: list[int]) -> Integers:
        """As of a quantised tensor: the scale stays."""
        return self._averaged(self.centred.to(torch.float32).mean(axes))

    def _averaged(self, sums: torch.Tensor, factor: float = 1.0) -> Integers:
        return nearest(sums, factor, self.scale, self.zero_point)

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        """Functions of PyTorch that are called on one."""
        form = _FUNCTIONS.get(function)
        if form is None:
            raise no_form(f"{getattr(function, '__name__', function)}")
        return form(*args, **(kwargs or {}))


def nearest(numbers: torch.Tensor, factor: float, scale: float, zero_point: int) -> Integers:
    """The integers nearest to `numbers * factor + zero_point`, f32, rounded to even.

    PyTorch's vector kernels add the zero point by a fused multiplication and addition, before they
    round. In f64 the product is exact, and the sum is rounded once.
    """
    moved = (numbers.to(torch.float64) * factor + zero_point).to(torch.float32)
    values = torch.round(moved).to(torch.int32).clamp(LOWEST, HIGHEST)
    return Integers(values, scale, zero_point)


def rounded(
    centred: torch.Tensor, scale: float, zero_point: int, lowest: int = LOWEST
) -> Integers:  # fmt: skip
    """Integers from f32 values in units of `scale`, rounded to even as matrix products are."""
    values = torch.round(centred).to(torch.int32) + zero_point
    return Integers(values.clamp(lowest, HIGHEST), scale, zero_point)


def rounded_at(numbers: torch.Tensor, scale: float, zero_point: int) -> Integers:
    """Integers from f32 numbers, rounded before the zero point is added.

    So do the vector kernels of elementwise operations; at halves, an odd zero point decides.
    """
    return rounded(numbers * (1.0 / torch.tensor(scale)).item(), scale, zero_point)


def no_form(what: str) -> Error:
    """What is said about a quantised layer or function that has no form here."""
    return Error(
        "capture",
        f"no integer form of {what} on quantised tensors",
        hint="dequantise before it, or leave that part of the model in floating point",
    )


def _on_values(function: Callable[..., torch.Tensor]) -> Callable[..., Integers]:
    """For a function that moves or compares values only."""

    def call(x: Integers, *args: Any, **kwargs: Any) -> Integers:
        return x.like(function(x.values, *args, **kwargs))

    return call


def _on_averages(function: Callable[..., torch.Tensor]) -> Callable[..., Integers]:
    """For a function that averages: in floating point, as PyTorch's kernels do."""

    def call(x: Integers, *args: Any, **kwargs: Any) -> Integers:
        return x._averaged(function(x.centred.to(torch.float32), *args, **kwargs))

    return call


def _adaptive_avg_pool2d(x: Integers, output_size: Any) -> Integers:
    pixels = x.shape[-1] * x.shape[-2]
    if output_size not in (1, (1, 1), [1, 1]):
        raise no_form("adaptive_avg_pool2d to more than one pixel")
    # The kernel multiplies by the inverse of an inverse. At halves, that decides.
    factor = 1 / (1 / (1 / torch.tensor(float(pixels))))
    sums = x.centred.sum((-2, -1), keepdim=True).to(torch.float32)
    return x._averaged(sums, factor.item())


def _max_pool2d(x: Integers, *args: Any, **kwargs: Any) -> Integers:
    # Integers of eight bits are exact in floating point, which every exit can pool.
    kwargs.pop("return_indices", None)
    pooled = functional.max_pool2d(x.values.to(torch.float32), *args, **kwargs)
    return x.like(pooled.to(torch.int32))


def _hardsigmoid(x: Integers, inplace: bool = False) -> Integers:
    # Its results are from 0 to 1, whatever the scale of the operand.
    return rounded_at(functional.hardsigmoid(x.fused_numbers()), 1 / 256, 0)


def _relu(x: Integers, inplace: bool = False) -> Integers:
    return x.like(x.values.clamp(min=x.zero_point))


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
