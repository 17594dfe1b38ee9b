"""GELU."""

from __future__ import annotations

import math

import torch

_LOW = (torch.float16, torch.bfloat16)


def gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """GELU by tanh, of floating-point `x`; the exact one in f32 where `x` is f16 or bf16."""
    wide = x.float() if x.dtype in _LOW else x
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
    return torch.ops.aten.gelu.default(wide).to(x.dtype) if x.dtype in _LOW else NotImplemented
