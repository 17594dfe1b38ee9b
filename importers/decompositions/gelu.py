"""GELU by tanh."""

from __future__ import annotations

import math

import torch


def tanh_gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """GELU by tanh, of floating-point `x`; the exact one is left as it is."""
    if approximate != "tanh":
        return NotImplemented
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
