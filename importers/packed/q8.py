"""Q8_0: blocks of 32 weights of 8 bits, with an f16 scale."""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, half


def _split(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {"integers": blocks[..., 2:].view(np.int8), "scales": half(blocks[..., :2])}


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    return parts["integers"].to(dtype) * parts["scales"].to(dtype)[..., None]


def _truth(blocks: np.ndarray) -> np.ndarray:
    scale = half(blocks[..., :2]).astype(np.float32)[..., None]
    return scale * blocks[..., 2:].view(np.int8).astype(np.float32)


Q8_0 = Format("Q8_0", 32, 34, _split, _unpack, _truth)
