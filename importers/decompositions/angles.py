"""Angles."""

from __future__ import annotations

import math
from typing import Any

import torch


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
    angle = torch.where(torch.signbit(x), math.pi - angle, angle)
    return torch.copysign(angle, y).to(dtype)
