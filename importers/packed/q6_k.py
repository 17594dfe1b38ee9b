"""Q6_K: blocks of 256 weights of 6 bits, in 16 groups with an 8-bit scale each.

An f16 scale for the block is multiplied with those of the groups. The two halves of a block are
stored alike, as four times 32 weights. For weight j: bytes j and j + 32 have its low four bits in
those of the first two and the last two 32s; byte j of the upper bits has two bits for each 32.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields, half


def _split(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., :128].reshape(*blocks.shape[:2], 2, 2, 32),
        "high_bits": blocks[..., 128:192].reshape(*blocks.shape[:2], 2, 32),
        "scales": blocks[..., 192:208].view(np.int8),
        "block_scales": half(blocks[..., 208:]),
    }


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    # Rows, blocks, halves, low or high bits, first or second 32 bytes, groups of 16, weights.
    shape = parts["scales"].shape[:2]
    low = fields(parts["integers"].view(*shape, 2, 1, 2, 2, 16), 4, (2, 1, 1, 1))
    high = fields(parts["high_bits"].view(*shape, 2, 1, 1, 2, 16), 2, (2, 2, 1, 1))
    scales = parts["scales"].view(*shape, 2, 2, 2, 2, 1).to(dtype)
    of_blocks = parts["block_scales"].view(*shape, 1, 1, 1, 1, 1).to(dtype)
    return (low + high * 16 - 32).to(dtype) * (of_blocks * scales)


def _truth(blocks: np.ndarray) -> np.ndarray:
    shape = blocks.shape[:2]
    low = blocks[..., :128].reshape(*shape, 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=-2).reshape(*shape, 2, 4, 32)
    high = blocks[..., 128:192].reshape(*shape, 2, 1, 32)
    high = np.concatenate([(high >> place) & 3 for place in (0, 2, 4, 6)], axis=-2)
    numbers = (low.astype(np.float32) + 16 * high - 32).reshape(*shape, 16, 16)
    scale = half(blocks[..., 208:]).astype(np.float32)[..., None]
    scales = scale * blocks[..., 192:208].view(np.int8).astype(np.float32)
    return (scales[..., None] * numbers).reshape(*shape, 256)


Q6_K = Format("Q6_K", 256, 210, _split, _unpack, _truth)
