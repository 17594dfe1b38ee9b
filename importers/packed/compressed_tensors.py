"""Folders of compressed-tensors: `pack-quantized`, `int-quantized` and `float-quantized`.

`weight_scale` is (rows, groups), or has one scale for the matrix. `pack-quantized`, of 4 or 8 bits,
has `weight_packed`, (rows, columns / n), whose integers of 32 bits have n weights of adjacent
columns each, the lowest bits first, plus half their range; `weight_shape`, the rows and columns
without padding; and maybe `weight_zero_point`, (rows / n, groups), packed in the same way along the
rows. `int-quantized` has `weight`, int8 of (rows, columns), and maybe `weight_zero_point`, int8 of
(rows, groups). `weight_g_idx` has the group of each column. `float-quantized` has `weight`, FP8 of
(rows, columns), and its scales may also be those of blocks of rows and columns.
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.float8 import blocks, in_blocks, true_matrix
from importers.packed.grouped import in_adjacent_groups, unsigned
from importers.packed.layout import Config, Layout, PackedMatrix, Tensors

_FLOAT = "float-quantized"
_FORMATS = ("pack-quantized", "int-quantized", _FLOAT)
_STRATEGIES = ("tensor", "channel", "group")
# Scales for blocks of rows and columns, which only FP8 weights have.
_BLOCK = "block"


def _unsupported(config: Config) -> str | None:
    status = config.get("quantization_status", "compressed")
    if status != "compressed":
        return f"the quantization_status {status}"
    if config.get("kv_cache_scheme"):
        return "a quantized key-value cache (kv_cache_scheme)"
    if (config.get("sparsity_config") or {}).get("format", "dense") != "dense":
        return f"sparse weights ({config['sparsity_config']['format']})"
    if (config.get("transform_config") or {}).get("config_groups"):
        return "transforms of weights and activations (transform_config)"
    found = (_unsupported_group(each, config) for each in config.get("config_groups", {}).values())
    return next(filter(None, found), None)


def _unsupported_group(group: Config, config: Config) -> str | None:
    form, weights = group.get("format") or config.get("format"), group.get("weights") or {}
    kind, bits = weights.get("type", "int"), weights.get("num_bits", 8)
    if form not in _FORMATS:
        return f"the format {form}"
    if (kind, bits) not in ([("float", 8)] if form == _FLOAT else [("int", 4), ("int", 8)]):
        return f"weights of {bits} bits of the type {kind}"
    if group.get("input_activations") or group.get("output_activations"):
        return "quantized activations"
    strategy = weights.get("strategy") or "tensor"
    strategies = (*_STRATEGIES, _BLOCK) if form == _FLOAT else _STRATEGIES
    return None if strategy in strategies else f"the strategy {strategy}"


def _scales(tensors: Tensors, rows: int) -> torch.Tensor:
    """Returns the scales, (rows, groups)."""
    scales = tensors["weight_scale"]
    return (scales if scales.dim() == 2 else scales.reshape(-1, 1)).expand(rows, -1)


def _groups(tensors: Tensors) -> np.ndarray | None:
    """Returns the group of each column; None if they are in order. The package writes -1 then."""
    groups = tensors["weight_g_idx"].numpy() if "weight_g_idx" in tensors else None
    return None if groups is None or (groups < 0).any() else groups


def _is_float(tensors: Tensors) -> bool:
    return "weight" in tensors and tensors["weight"].dtype.is_floating_point


def _in_blocks(
    tensors: Tensors, config: Config
) -> tuple[torch.Tensor, torch.Tensor, tuple[int, int]]:
    """Returns the FP8 numbers, the scales in f32, and the rows and columns of a block."""
    weight, scales = tensors["weight"], tensors["weight_scale"].float()
    groups = [group.get("weights") or {} for group in config.get("config_groups", {}).values()]
    for rows, columns in (each["block_structure"] for each in groups if _BLOCK in each.values()):
        if tuple(scales.shape) == blocks(weight, (rows, columns)):
            return weight, scales, (rows, columns)
    scales = _scales({"weight_scale": scales}, len(weight))
    return weight, scales, (1, weight.shape[1] // scales.shape[1])


def _bits(tensors: Tensors) -> int:
    if "weight_packed" not in tensors:
        return 8
    return 4 if tensors["weight_packed"].shape[1] == -(-int(tensors["weight_shape"][1]) // 8) else 8


def _read(tensors: Tensors, config: Config) -> PackedMatrix:
    if _is_float(tensors):
        return in_blocks(*_in_blocks(tensors, config))
    bits = _bits(tensors)
    if bits == 8 and "weight" in tensors:
        numbers = tensors["weight"].numpy().view(np.uint8) ^ 128
    else:
        numbers = unsigned(tensors["weight_packed"], bits)[:, : int(tensors["weight_shape"][1])]
    scales = _scales(tensors, len(numbers))
    zero_points = np.full(scales.shape, 1 << (bits - 1), np.uint8)
    stored = tensors.get("weight_zero_point")
    if stored is not None and stored.dtype == torch.int32:
        zero_points = unsigned(stored.T, bits)[:, : len(numbers)].T
    elif stored is not None:
        stored = stored.reshape(len(stored), -1).expand(scales.shape).numpy()
        zero_points = zero_points + stored.view(np.uint8)
    return in_adjacent_groups(bits, numbers, scales, zero_points, _groups(tensors))


def _truth(tensors: Tensors, config: Config) -> np.ndarray:
    if _is_float(tensors):
        return true_matrix(*_in_blocks(tensors, config))
    bits = _bits(tensors)
    middle, mask, shifts = 1 << (bits - 1), (1 << bits) - 1, np.arange(0, 32, bits)
    if "weight_packed" in tensors:
        rows, columns = tensors["weight_shape"].tolist()
        numbers = (tensors["weight_packed"].numpy()[..., None] >> shifts) & mask
        numbers = numbers.reshape(rows, -1)[:, :columns] - middle
    else:
        numbers = tensors["weight"].numpy().astype(np.int32)
    rows, columns = numbers.shape
    scales = _scales(tensors, rows).float().numpy()
    zero_points = tensors.get("weight_zero_point", torch.zeros(1, 1, dtype=torch.int8)).numpy()
    if zero_points.dtype == np.int32:
        zero_points = (zero_points[:, None] >> shifts[:, None]) & mask
        zero_points = zero_points.reshape(-1, scales.shape[1])[:rows] - middle
    zero_points = np.broadcast_to(zero_points.reshape(len(zero_points), -1), scales.shape)
    groups = _groups(tensors)
    if groups is None:
        groups = np.arange(columns) // (columns // scales.shape[1])
    return scales[:, groups] * (numbers - zero_points[:, groups].astype(np.float32))


COMPRESSED_TENSORS = Layout(
    "compressed-tensors",
    _unsupported,
    "weight_scale",
    (),
    ("weight", "weight_packed", "weight_shape", "weight_zero_point", "weight_g_idx"),
    _read,
    _truth,
)
