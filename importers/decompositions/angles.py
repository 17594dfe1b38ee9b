"""Decompositions of `atan2` and `angle`."""

from __future__ import annotations

import math
from typing import Any

import torch

from importers.decompositions.signs import is_negative


def atan2(y: torch.Tensor, x: torch.Tensor) -> Any:
    """Returns the angle of (x, y), from -π to π, or NotImplemented for f64.

    Zeros and infinities give the same results as in C.
    """
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
    # 0 / 0 and ∞ / ∞ are NaN, so set the angle for them.
    angle = torch.where(torch.logical_and(same, torch.eq(width, 0)), 0.0, angle)
    angle = torch.where(torch.logical_and(same, torch.isinf(width)), math.pi / 4, angle)
    angle = torch.where(is_negative(x), math.pi - angle, angle)
    return torch.where(is_negative(y), -angle, angle).to(dtype)


def angle(x: torch.Tensor) -> Any:
    """Returns π for negative numbers, 0 for others, NaN for NaN; NotImplemented if complex."""
    if x.is_complex():
        return NotImplemented
    dtype = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    turned = torch.lt(x, 0).to(dtype) * math.pi
    return torch.where(torch.isnan(x), x, turned) if x.is_floating_point() else turned
