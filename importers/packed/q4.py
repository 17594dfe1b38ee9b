"""Q4_0 and Q4_1: blocks of 32 weights of 4 bits, with an f16 scale, and in Q4_1 a minimum.

Byte j of a block has weight j in its low bits and weight j + 16 in its high bits.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields, half


def _split_0(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {"integers": blocks[..., 2:], "scales": half(blocks[..., :2])}


def _split_1(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., 4:],
        "scales": half(blocks[..., :2]),
        "mins": half(blocks[..., 2:4]),
    }


def _integers(parts: Parts) -> torch.Tensor:
    return fields(parts["integers"].unsqueeze(-2), 4, (2, 1))


def _unpack_0(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    numbers = (_integers(parts) - 8).to(dtype)
    return numbers * parts["scales"].to(dtype)[..., None, None]


def _unpack_1(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    numbers = _integers(parts).to(dtype)
    scaled = numbers * parts["scales"].to(dtype)[..., None, None]
    return scaled + parts["mins"].to(dtype)[..., None, None]


def _nibbles(packed: np.ndarray) -> np.ndarray:
    return np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)


def _truth_0(blocks: np.ndarray) -> np.ndarray:
    scale = half(blocks[..., :2]).astype(np.float32)[..., None]
    return scale * (_nibbles(blocks[..., 2:]) - 8)


def _truth_1(blocks: np.ndarray) -> np.ndarray:
    scale, least = (half(blocks[..., at : at + 2]).astype(np.float32)[..., None] for at in (0, 2))
    return scale * _nibbles(blocks[..., 4:]) + least


Q4_0 = Format("Q4_0", 32, 18, _split_0, _unpack_0, _truth_0)
Q4_1 = Format("Q4_1", 32, 20, _split_1, _unpack_1, _truth_1)
