"""The quantization parameters of a tensor: scale, zero point, and range of the integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.ao.quantization.fx._decomposed  # defines quantized_decomposed
from torch.fx import Node

from importers.integer.operands import arguments_of

_QUANTIZED = torch.ops.quantized_decomposed
QUANTIZE = (
    _QUANTIZED.quantize_per_tensor.default,
    _QUANTIZED.quantize_per_tensor.tensor,
    _QUANTIZED.quantize_per_channel.default,
)
DEQUANTIZE = (
    _QUANTIZED.dequantize_per_tensor.default,
    _QUANTIZED.dequantize_per_tensor.tensor,
    _QUANTIZED.dequantize_per_channel.default,
)


@dataclass(frozen=True)
class Grid:
    """The quantization parameters of a tensor: values are `(integer - zero_point) * scale`.

    Attributes:
        scales: one, or one for each index of `axis`.
        zero_points: one, or one for each index of `axis`.
        low, high: the range of the integers.
        axis: -1 for a single scale.
    """

    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    low: int
    high: int
    dtype: torch.dtype
    axis: int = -1

    @property
    def scale(self) -> float:
        """The only scale."""
        (scale,) = self.scales
        return scale

    @property
    def zero_point(self) -> int:
        """The only zero point."""
        (zero_point,) = set(self.zero_points)
        return zero_point

    @property
    def is_single(self) -> bool:
        """Whether all channels have the same scale and zero point."""
        return self.axis == -1

    @property
    def is_int8(self) -> bool:
        """Whether the integers are i8."""
        return self.dtype == torch.int8

    @property
    def largest(self) -> int:
        """The largest difference between an integer and the zero point."""
        return max(self.zero_point - self.low, self.high - self.zero_point)

    @property
    def arguments(self) -> tuple[float, int, int, int, torch.dtype]:
        """The arguments of a quantize or dequantize operator with a single scale."""
        return self.scale, self.zero_point, self.low, self.high, self.dtype

    def shifted(self, by: int, dtype: torch.dtype) -> Grid:
        """Returns the Grid whose integers are larger by `by`, with the same values."""
        points = tuple(point + by for point in self.zero_points)
        return replace(
            self, zero_points=points, low=self.low + by, high=self.high + by, dtype=dtype
        )

    def integer(self, value: float) -> int:
        """Returns the integer for a number, rounded half to even and clamped, as PyTorch does."""
        return max(self.low, min(self.high, round(value / self.scale) + self.zero_point))


def grid_of(node: Node, constant: Any) -> Grid | None:
    """Returns the Grid of a quantize or dequantize operator; None if it depends on the input.

    Args:
        node: one of `QUANTIZE` or `DEQUANTIZE`.
        constant: returns the tensor of a node that does not depend on the input, else None.
    """
    values = arguments_of(node)
    per_channel = "axis" in values
    scales = values["scales" if per_channel else "scale"]
    zero_points = values["zero_points" if per_channel else "zero_point"]
    scales, zero_points = _numbers(scales, constant), _numbers(zero_points, constant)
    if scales is None:
        return None
    return Grid(
        tuple(map(float, scales)),
        tuple(map(int, zero_points)) if zero_points else (0,) * len(scales),
        int(values["quant_min"]),
        int(values["quant_max"]),
        values["dtype"],
        int(values["axis"]) if per_channel else -1,
    )


def _numbers(value: Any, constant: Any) -> list[float] | None:
    if isinstance(value, Node):
        value = constant(value)
        return None if value is None else value.flatten().tolist()
    return [] if value is None else [value]
