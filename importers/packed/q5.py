"""Q5_0 and Q5_1: blocks of 32 weights of 5 bits, with an f16 scale, and in Q5_1 a minimum.

The low four bits are stored as in Q4_0. The fifth bits are one integer of 32 bits: bit j is that of
weight j.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields, half


def _fifth_bits(field: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(field).view(np.int32)[..., 0]


def _split_0(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., 6:],
        "high_bits": _fifth_bits(blocks[..., 2:6]),
        "scales": half(blocks[..., :2]),
    }


def _split_1(blocks: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "integers": blocks[..., 8:],
        "high_bits": _fifth_bits(blocks[..., 4:8]),
        "scales": half(blocks[..., :2]),
        "mins": half(blocks[..., 2:4]),
    }


def _integers(parts: Parts) -> torch.Tensor:
    high = fields(parts["high_bits"][..., None, None], 1, (2, 16))
    return fields(parts["integers"].unsqueeze(-2), 4, (2, 1)) + high * 16


def _unpack_0(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    return (_integers(parts) - 16).to(dtype) * parts["scales"].to(dtype)[..., None, None]


def _unpack_1(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    scaled = _integers(parts).to(dtype) * parts["scales"].to(dtype)[..., None, None]
    return scaled + parts["mins"].to(dtype)[..., None, None]


def _numbers(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    fifth = np.unpackbits(np.ascontiguousarray(high), axis=-1, bitorder="little")
    low = np.concatenate([low & 15, low >> 4], axis=-1)
    return (low + 16 * fifth).astype(np.float32)


def _truth_0(blocks: np.ndarray) -> np.ndarray:
    scale = half(blocks[..., :2]).astype(np.float32)[..., None]
    return scale * (_numbers(blocks[..., 6:], blocks[..., 2:6]) - 16)


def _truth_1(blocks: np.ndarray) -> np.ndarray:
    scale, least = (half(blocks[..., at : at + 2]).astype(np.float32)[..., None] for at in (0, 2))
    return scale * _numbers(blocks[..., 8:], blocks[..., 4:8]) + least


Q5_0 = Format("Q5_0", 32, 22, _split_0, _unpack_0, _truth_0)
Q5_1 = Format("Q5_1", 32, 24, _split_1, _unpack_1, _truth_1)
