"""MXFP4: blocks of 32 floating-point numbers of 4 bits (e2m1) with a power of two as scale (e8m0).

GGUF files have matrices in this format, and folders of gpt-oss have experts in it. A block of a
GGUF file is a byte with the scale and 16 bytes: byte j has weight j in its low bits and weight
j + 16 in its high bits, as in Q4_0. A folder has `*_blocks`, (experts, rows, blocks, 16), whose
byte j has weights 2j and 2j + 1, and `*_scales`, (experts, rows, blocks).

A program has scales as bf16, which holds powers of two exactly: 18 bytes per block instead of 17.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.format import Format, Parts, fields
from importers.packed.layout import Config, Layout, PackedMatrix, Tensors

# Without the highest bit, which is the sign.
_POSITIVE = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
_NUMBERS = np.concatenate([_POSITIVE, 0 - _POSITIVE])


def _scales(exponents: np.ndarray) -> np.ndarray:
    """Returns the scale for each biased exponent, f32. That of 255 is infinite."""
    with np.errstate(over="ignore"):
        return np.ldexp(np.float32(1), exponents.astype(np.int32) - 127)


def _split(blocks: np.ndarray) -> dict[str, np.ndarray | torch.Tensor]:
    scales = torch.from_numpy(_scales(blocks[..., 0])).bfloat16()
    return {"integers": blocks[..., 1:], "scales": scales}


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    bits = fields(parts["integers"].unsqueeze(-2), 4, (2, 1))
    # Compilers make vectors of this. They do not of tables and shifts by computed amounts, nor of a
    # tensor that is subtracted from a number.
    times_8 = (bits & 7) * 4 + (bits & 4) * ((bits & 3) + (bits & 1) * (bits & 2))
    numbers = (times_8 * 4 - times_8 * (bits & 8)).to(dtype) * (1 / 32)
    return numbers * parts["scales"].to(dtype)[..., None, None]


def _truth(blocks: np.ndarray) -> np.ndarray:
    packed = blocks[..., 1:]
    bits = np.concatenate([packed & 15, packed >> 4], axis=-1)
    return _scales(blocks[..., :1]) * _NUMBERS[bits]


MXFP4 = Format("MXFP4", 32, 17, _split, _unpack, _truth)


def _experts_bits(tensors: Tensors) -> np.ndarray:
    """Returns the numbers of 4 bits in order, uint8 of (experts, rows, blocks, 32)."""
    packed = tensors["blocks"].numpy()
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], 32)


def _read_experts(tensors: Tensors, config: Config) -> PackedMatrix:
    low, high = np.split(_experts_bits(tensors), 2, axis=-1)
    scales = torch.from_numpy(_scales(tensors["scales"].numpy())).bfloat16()
    return PackedMatrix(MXFP4, {"integers": torch.from_numpy(low | (high << 4)), "scales": scales})


def _true_experts(tensors: Tensors, config: Config) -> np.ndarray:
    scales = _scales(tensors["scales"].numpy())
    weights = scales[..., None] * _NUMBERS[_experts_bits(tensors)]
    return np.ascontiguousarray(weights.reshape(*weights.shape[:2], -1).swapaxes(1, 2))


MXFP4_EXPERTS = Layout(
    "mxfp4", lambda config: None, "blocks", ("scales",), (), _read_experts, _true_experts, True
)
