"""GPTQ folders, of gptqmodel, AutoGPTQ or optimum: weights of 4 or 8 bits.

An integer of `qweight`, (columns / n, rows), has n weights of adjacent columns, the lowest bits
first. One of `qzeros`, (groups, rows / n), has the zero points of n adjacent rows. `scales` is
(groups, rows). `g_idx` has the group of each column, in any order with `desc_act`. The first
version of the layout stores zero points minus one, modulo 2**bits.
"""

from __future__ import annotations

import numpy as np

from importers.packed.grouped import in_adjacent_groups, unsigned
from importers.packed.layout import Config, Layout, PackedMatrix, Tensors

_FIRST, _SECOND = "gptq", "gptq_v2"


def _version(config: Config) -> str:
    if config.get("is_marlin_format"):
        return "marlin"
    return str(config.get("checkpoint_format") or config.get("format") or _FIRST).lower()


def _unsupported(config: Config) -> str | None:
    if config.get("bits") not in (4, 8):
        return f"weights of {config.get('bits')} bits"
    if _version(config) not in (_FIRST, _SECOND):
        return f"the layout {_version(config)}"
    # Keys with this prefix name layers that are not quantized.
    if any(not pattern.startswith("-:") for pattern in config.get("dynamic") or ()):
        return "bits that differ between layers (dynamic)"
    return None


def _groups(tensors: Tensors) -> np.ndarray | None:
    return tensors["g_idx"].numpy() if "g_idx" in tensors else None


def _read(tensors: Tensors, config: Config) -> PackedMatrix:
    bits, scales = config["bits"], tensors["scales"].T
    numbers = unsigned(tensors["qweight"].T, bits)
    zero_points = unsigned(tensors["qzeros"], bits).T
    if _version(config) == _FIRST:
        zero_points = (zero_points + np.uint8(1)) & np.uint8((1 << bits) - 1)
    return in_adjacent_groups(bits, numbers, scales, zero_points, _groups(tensors))


def _truth(tensors: Tensors, config: Config) -> np.ndarray:
    bits, scales = config["bits"], tensors["scales"].float().numpy()
    groups, rows = scales.shape
    shifts, mask = np.arange(0, 32, bits), (1 << bits) - 1
    numbers = (tensors["qweight"].numpy()[:, None, :] >> shifts[:, None]) & mask
    numbers = numbers.reshape(-1, rows)
    zero_points = ((tensors["qzeros"].numpy()[..., None] >> shifts) & mask).reshape(groups, rows)
    if _version(config) == _FIRST:
        zero_points = (zero_points + 1) & mask
    of_columns = _groups(tensors)
    if of_columns is None:
        of_columns = np.arange(len(numbers)) // (len(numbers) // groups)
    weights = scales[of_columns] * (numbers - zero_points[of_columns])
    return weights.T.astype(np.float32)


GPTQ = Layout("gptq", _unsupported, "qweight", ("qzeros", "scales"), ("g_idx",), _read, _truth)
