"""AWQ folders, of AutoAWQ or gptqmodel: weights of 4 bits in the layout `gemm`.

An integer of `qweight`, (columns, rows / 8), has the weights of 8 adjacent rows. One of `qzeros`,
(groups, rows / 8), has their zero points. Both have the even rows first, then the odd ones, the
lowest bits first. `scales` is (groups, rows).
"""

from __future__ import annotations

import numpy as np
import torch

from importers.packed.grouped import grouped, unsigned
from importers.packed.layout import Config, Layout, PackedMatrix, Tensors

# The place in an integer of each of 8 rows.
_PLACES = np.array([0, 4, 1, 5, 2, 6, 3, 7])


def _unsupported(config: Config) -> str | None:
    bits = config.get("bits", config.get("w_bit", 4))
    if bits != 4:
        return f"weights of {bits} bits"
    version = str(config.get("version") or config.get("format") or "gemm").lower()
    return None if version == "gemm" else f"the layout {version}"


def _in_order(packed: torch.Tensor) -> np.ndarray:
    """Returns the numbers of all rows, (…, rows)."""
    numbers = unsigned(packed, 4)
    return numbers.reshape(len(numbers), -1, 8)[..., _PLACES].reshape(numbers.shape)


def _read(tensors: Tensors, config: Config) -> PackedMatrix:
    numbers, zero_points = _in_order(tensors["qweight"]).T, _in_order(tensors["qzeros"]).T
    return PackedMatrix(*grouped(4, numbers, tensors["scales"].T, zero_points))


def _truth(tensors: Tensors, config: Config) -> np.ndarray:
    scales = tensors["scales"].float().numpy()
    numbers, zero_points = (
        ((tensors[name].numpy()[..., None] >> (4 * _PLACES)) & 15).reshape(-1, scales.shape[1])
        for name in ("qweight", "qzeros")
    )
    size = len(numbers) // len(scales)
    scales, zero_points = (np.repeat(each, size, axis=0) for each in (scales, zero_points))
    return (scales * (numbers - zero_points)).T.astype(np.float32)


AWQ = Layout("awq", _unsupported, "qweight", ("qzeros", "scales"), (), _read, _truth)
