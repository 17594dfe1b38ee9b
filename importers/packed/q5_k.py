"""Q5_K: as Q4_K, with a fifth bit. Bit i of byte j is that of weight j in group i."""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields
from importers.packed.q4_k import scale_parts, scaled, true_scaled


def _split(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., 48:].reshape(*blocks.shape[:2], 4, 32),
        "high_bits": blocks[..., 16:48],
        **scale_parts(blocks),
    }


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    low = fields(parts["integers"].unsqueeze(-2), 4, (2, 1))
    high = fields(parts["high_bits"][..., None, None, :], 1, (4, 2, 1))
    return scaled((low + high * 16).to(dtype), parts)


def _truth(blocks: np.ndarray) -> np.ndarray:
    packed = blocks[..., 48:].reshape(*blocks.shape[:2], 4, 1, 32)
    low = np.concatenate([packed & 15, packed >> 4], axis=-2).reshape(*blocks.shape[:2], 8, 32)
    high = np.stack([(blocks[..., 16:48] >> place) & 1 for place in range(8)], axis=-2)
    return true_scaled(low + 16 * high, blocks)


Q5_K = Format("Q5_K", 256, 176, _split, _unpack, _truth)
