"""Q4_K: blocks of 256 weights of 4 bits, in 8 groups with a 6-bit scale and minimum each.

A block has an f16 scale and an f16 minimum, which are multiplied with those of the groups. Groups
2i and 2i + 1 are the low and high bits of the same 32 bytes. The 6-bit numbers are stored as bytes:
148 bytes per block instead of 144.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields, half


def group_scales(field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reads the 12 bytes with the scales and minimums of a block: two arrays of 8, uint8."""
    scales, mins, both = field[..., :4], field[..., 4:8], field[..., 8:]
    return (
        np.concatenate([scales & 63, (both & 15) | ((scales >> 6) << 4)], axis=-1),
        np.concatenate([mins & 63, (both >> 4) | ((mins >> 6) << 4)], axis=-1),
    )


def scaled(numbers: torch.Tensor, parts: Parts) -> torch.Tensor:
    """Applies the scales and minimums to numbers of (rows, blocks, 4, 2, 32)."""
    scales = _products(parts["block_scales"], parts["scales"], numbers.dtype)
    return numbers * scales - _products(parts["block_mins"], parts["mins"], numbers.dtype)


def _products(of_blocks: torch.Tensor, of_groups: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    groups = of_groups.view(*of_groups.shape[:2], 4, 2, 1)
    return of_blocks[..., None, None, None].to(dtype) * groups.to(dtype)


def scale_parts(blocks: np.ndarray) -> dict[str, np.ndarray]:
    """Returns the scales and minimums of blocks and groups, from the first 16 bytes of blocks."""
    scales, mins = group_scales(blocks[..., 4:16])
    return {
        "scales": scales,
        "mins": mins,
        "block_scales": half(blocks[..., :2]),
        "block_mins": half(blocks[..., 2:4]),
    }


def true_scaled(numbers: np.ndarray, blocks: np.ndarray) -> np.ndarray:
    """Applies the scales and minimums in blocks to numbers of (rows, blocks, 8, 32), in NumPy."""
    scales, mins = (each.astype(np.float32) for each in group_scales(blocks[..., 4:16]))
    scale, least = (half(blocks[..., at : at + 2]).astype(np.float32)[..., None] for at in (0, 2))
    scaled = (scale * scales)[..., None] * numbers.astype(np.float32) - (least * mins)[..., None]
    return scaled.reshape(*blocks.shape[:2], 256)


def _split(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., 16:].reshape(*blocks.shape[:2], 4, 32),
        **scale_parts(blocks),
    }


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    return scaled(fields(parts["integers"].unsqueeze(-2), 4, (2, 1)).to(dtype), parts)


def _truth(blocks: np.ndarray) -> np.ndarray:
    packed = blocks[..., 16:].reshape(*blocks.shape[:2], 4, 1, 32)
    numbers = np.concatenate([packed & 15, packed >> 4], axis=-2)
    return true_scaled(numbers.reshape(*blocks.shape[:2], 8, 32), blocks)


Q4_K = Format("Q4_K", 256, 144, _split, _unpack, _truth)
