"""GELU."""

from __future__ import annotations

import math

import torch

_LOW = (torch.float16, torch.bfloat16)


def gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Returns GELU of floating-point `x`, by tanh or exactly.

    Exact GELU is computed in f32 for f16 and bf16, and NotImplemented for other dtypes.
    """
    wide = x.float() if x.dtype in _LOW else x
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
    return torch.ops.aten.gelu.default(wide).to(x.dtype) if x.dtype in _LOW else NotImplemented
