"""int4 and int8: integers with a scale for each group of adjacent weights of a row.

GPTQ, AWQ and compressed-tensors files have such weights, in layouts of their own. Byte j of a group
of int4 has weight j in its low bits and weight j + half a group in its high bits, as in Q4_0. A
program has zero points only if they differ from the middle of the range of the integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from importers.packed.format import Parts, as_tensor, fields
from importers.packed.layout import PackedMatrix, adjacent


@dataclass(frozen=True)
class GroupedFormat:
    """A format of packed weights in groups of the same size. Any size is possible.

    The parts are `integers`, (rows, groups, bytes), `scales`, (rows, groups), and maybe
    `zero_points`, (rows, groups).

    Attributes:
        name: its name in the operator that unpacks weights.
        per_byte: weights in a byte of `integers`.
        unpack: as that of `Format`.
    """

    name: str
    per_byte: int
    unpack: Callable[[Parts, torch.dtype], torch.Tensor]

    def columns(self, parts: Parts) -> int:
        """Returns the number of weights in a row."""
        _, groups, size = parts["integers"].shape
        return groups * size * self.per_byte


def _unpack_4(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    numbers = fields(parts["integers"].unsqueeze(-2), 4, (2, 1))
    zero_points = parts["zero_points"].to(torch.int32)[..., None, None] if _has(parts) else 8
    return (numbers - zero_points).to(dtype) * parts["scales"].to(dtype)[..., None, None]


def _unpack_8(parts: Parts, dtype: torch.dtype) -> torch.Tensor:
    numbers = parts["integers"].to(torch.int32)
    if _has(parts):
        numbers = numbers - parts["zero_points"].to(torch.int32)[..., None]
    return numbers.to(dtype) * parts["scales"].to(dtype)[..., None]


def _has(parts: Parts) -> bool:
    return "zero_points" in parts


INT4 = GroupedFormat("int4", 2, _unpack_4)
INT8 = GroupedFormat("int8", 1, _unpack_8)


def grouped(
    bits: int, numbers: np.ndarray, scales: torch.Tensor, zero_points: np.ndarray
) -> tuple[GroupedFormat, dict[str, torch.Tensor]]:
    """Returns the format and the parts of a matrix, `scales * (numbers - zero_points)`.

    Args:
        bits: 4 or 8.
        numbers: unsigned integers, uint8 of (rows, columns).
        scales: (rows, groups), in the dtype of the file.
        zero_points: unsigned integers, uint8 of (rows, groups).

    Raises:
        ValueError: if the shapes do not fit.
    """
    if zero_points.shape != tuple(scales.shape):
        raise ValueError(f"scales are {list(scales.shape)}, zero points {list(zero_points.shape)}")
    numbers = numbers.reshape(*scales.shape, numbers.shape[1] // scales.shape[1])
    parts = {"integers": numbers, "scales": scales}
    if (zero_points != 1 << (bits - 1)).any():
        parts["zero_points"] = zero_points
    if bits == 4:
        low, high = np.split(numbers, 2, axis=-1)
        parts["integers"] = low | (high << 4)
    else:
        signed = {name: part for name, part in parts.items() if name != "scales"}
        parts |= {name: (part ^ 128).view(np.int8) for name, part in signed.items()}
    tensors = {name: as_tensor(part) for name, part in parts.items()}
    return (INT4 if bits == 4 else INT8), tensors


def in_adjacent_groups(
    bits: int,
    numbers: np.ndarray,
    scales: torch.Tensor,
    zero_points: np.ndarray,
    groups: np.ndarray | None,
) -> PackedMatrix:
    """Returns a matrix like `grouped`, whose columns it reorders if their groups are not adjacent.

    Args:
        groups: the group of each column; None if they are adjacent.
    """
    order = adjacent(groups, scales.shape[1], numbers.shape[1])
    if order is None:
        return PackedMatrix(*grouped(bits, numbers, scales, zero_points))
    parts = grouped(bits, numbers[:, order], scales, zero_points)
    return PackedMatrix(*parts, torch.from_numpy(order))


def unsigned(packed: torch.Tensor, bits: int) -> np.ndarray:
    """Returns the fields of integers of 32 bits, uint8, along the last axis, lowest first."""
    data = np.ascontiguousarray(packed.numpy()).view(np.uint8)
    if bits == 8:
        return data
    return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)
