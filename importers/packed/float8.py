"""FP8: floating-point numbers of 8 bits (e4m3fn), with a scale for each block of rows and columns.

A folder whose `quant_method` is `fp8`, such as those of DeepSeek-V3 and Qwen3, has `weight`, (rows,
columns), and `weight_scale_inv`, (rows / 128, columns / 128), both rounded up, or one scale for the
matrix. Scales are f32, or exponents of 2 (`ue8m0`). On a CPU, transformers unpacks such weights,
and does not quantize activations; nor does the program.

A program has a scale for each row of a block, so that rows need not be a multiple of the block's:
4 bytes for 128 weights.
"""

from __future__ import annotations

import math

import numpy as np
import torch

from importers.packed.format import Parts
from importers.packed.grouped import GroupedFormat
from importers.packed.layout import Config, Layout, PackedMatrix, Tensors


def _unpack(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    return parts["integers"].to(dtype) * parts["scales"].to(dtype)[..., None]


FLOAT8 = GroupedFormat("float8", 1, _unpack)


def blocks(weight: torch.Tensor, block: tuple[int, int]) -> tuple[int, ...]:
    """Returns the numbers of blocks along the rows and the columns. The last may be smaller."""
    return tuple(math.ceil(size / each) for size, each in zip(weight.shape, block, strict=True))


def in_blocks(weight: torch.Tensor, scales: torch.Tensor, block: tuple[int, int]) -> PackedMatrix:
    """Returns a matrix of FP8 numbers with a scale for each block.

    Args:
        weight: float8_e4m3fn of (rows, columns).
        scales: f32 of (blocks of rows, blocks of columns).
        block: the rows and the columns of a block.

    Raises:
        ValueError: if the tensors do not fit.
    """
    _check(weight, scales, block)
    rows, columns = weight.shape
    # Groups of columns have the same size. A smaller last block makes several of each block.
    size = math.gcd(columns, block[1])
    of_row, of_group = np.arange(rows) // block[0], np.arange(0, columns, size) // block[1]
    parts = {
        "integers": weight.reshape(rows, -1, size),
        "scales": scales[of_row][:, of_group].contiguous(),
    }
    return PackedMatrix(FLOAT8, parts)


def true_matrix(weight: torch.Tensor, scales: torch.Tensor, block: tuple[int, int]) -> np.ndarray:
    """Computes the matrix of `in_blocks` in NumPy, f32 of (rows, columns)."""
    _check(weight, scales, block)
    rows, columns = weight.shape
    of_row, of_column = np.arange(rows) // block[0], np.arange(columns) // block[1]
    return _numbers()[weight.view(torch.uint8).numpy()] * scales.numpy()[of_row][:, of_column]


def _check(weight: torch.Tensor, scales: torch.Tensor, block: tuple[int, int]) -> None:
    if weight.dtype != torch.float8_e4m3fn:
        raise ValueError(f"the weight is {weight.dtype}, not FP8 (float8_e4m3fn)")
    if tuple(scales.shape) != blocks(weight, block):
        raise ValueError(
            f"{list(scales.shape)} scales for {list(weight.shape)} weights, in blocks of "
            f"{list(block)}"
        )


def _numbers() -> np.ndarray:
    """Returns the number for each byte: a sign, 4 bits of exponent, 3 bits of mantissa."""
    exponents, mantissas = np.arange(128) // 8, np.arange(128) % 8
    positive = np.where(
        exponents == 0,
        np.ldexp(mantissas, -9),
        np.ldexp(8 + mantissas, exponents - 10),
    ).astype(np.float32)
    # There is no infinity.
    positive[127] = np.nan
    return np.concatenate([positive, -positive])


def _unsupported(config: Config) -> str | None:
    if config.get("expert_dtype", "fp8") != "fp8":
        return f"experts in {config['expert_dtype']}"
    return None


def _scales(tensors: Tensors) -> torch.Tensor:
    """Returns the scales, f32 of (blocks of rows, blocks of columns)."""
    scales = tensors["weight_scale_inv"]
    if scales.dtype == torch.uint8:
        scales = scales.view(torch.float8_e8m0fnu)
    return scales.float().reshape(scales.shape if scales.dim() == 2 else (1, 1))


def _block(tensors: Tensors, config: Config) -> tuple[int, int]:
    if tensors["weight_scale_inv"].dim() != 2:
        return tuple(tensors["weight"].shape)
    # The default of transformers.
    return tuple(config.get("weight_block_size") or (128, 128))


def _read(tensors: Tensors, config: Config) -> PackedMatrix:
    return in_blocks(tensors["weight"], _scales(tensors), _block(tensors, config))


def _truth(tensors: Tensors, config: Config) -> np.ndarray:
    return true_matrix(tensors["weight"], _scales(tensors), _block(tensors, config))


FP8 = Layout(
    "fp8",
    _unsupported,
    "weight_scale_inv",
    (),
    # A scale for activations, which transformers uses on GPUs.
    ("weight", "activation_scale"),
    _read,
    _truth,
)
