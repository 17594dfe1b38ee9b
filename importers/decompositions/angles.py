"""Angles."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.signs import is_negative


def atan2(y: torch.Tensor, x: torch.Tensor) -> Any:
    """The angle of (x, y), from -π to π, as C has it for zeros and infinities; f64 is left."""
    dtype = torch.result_type(x, y)
    if dtype == torch.float64:
        return NotImplemented
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    x, y = x.to(torch.float32), y.to(torch.float32)
    width, height = x.abs(), y.abs()
    steep = math.pi / 2 - torch.atan(width / height)
    angle = torch.where(width >= height, torch.atan(height / width), steep)
    same = torch.eq(width, height)
    # 0 / 0 and ∞ / ∞ are no numbers.
    angle = torch.where(torch.logical_and(same, torch.eq(width, 0)), 0.0, angle)
    angle = torch.where(torch.logical_and(same, torch.isinf(width)), math.pi / 4, angle)
    angle = torch.where(is_negative(x), math.pi - angle, angle)
    return torch.where(is_negative(y), -angle, angle).to(dtype)


def angle(x: torch.Tensor) -> Any:
    """π for negative numbers, 0 for others, NaN for NaN; of complex numbers it is left."""
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    turned = torch.lt(x, 0).to(dtype) * math.pi
    return torch.where(torch.isnan(x), x, turned) if x.is_floating_point() else turned
