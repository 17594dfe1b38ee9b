"""Rounding toward zero."""

from __future__ import annotations

from typing import Any

import torch


def trunc(x: torch.Tensor) -> Any:
    """Returns floating-point `x` rounded toward zero, -0 for -0; NotImplemented for integers."""
    if not x.is_floating_point():
        return NotImplemented
    return torch.where(x < 0, torch.ceil(x), torch.floor(x))
