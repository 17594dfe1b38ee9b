"""The description of a format of packed weights, and the steps that formats share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

Parts = Mapping[str, torch.Tensor]


class Packing(Protocol):
    """The interface of formats: how the tensors of a packed matrix represent its weights."""

    @property
    def name(self) -> str:
        """Its name in the operator that unpacks weights."""

    @property
    def unpack(self) -> Callable[[Parts, torch.dtype], torch.Tensor]:
        """Computes the weights, as `Format.unpack`."""

    def columns(self, parts: Parts) -> int:
        """Returns the number of weights in a row."""


@dataclass(frozen=True)
class Format:
    """A format of packed weights in GGUF files. A row of a matrix is a sequence of blocks.

    Attributes:
        name: the name of the tensor type in GGUF.
        elements: the number of weights in a block.
        bytes: the size of a block in the file.
        split: splits blocks, uint8 of (rows, blocks, bytes), into the arrays that the program
            takes, by name. The first two sizes of each are (rows, blocks).
        unpack: computes the weights from these as tensors, in the given dtype (f32 or f64):
            (rows, blocks, …), whose remaining sizes have `elements` in the order of the row. It is
            one elementwise expression over views of the tensors, which compilers can fuse into the
            operation that reads the weights.
        truth: computes the weights from blocks in NumPy: f32 of (rows, blocks, elements).
    """

    name: str
    elements: int
    bytes: int
    split: Callable[[np.ndarray], Mapping[str, np.ndarray | torch.Tensor]]
    unpack: Callable[[Parts, torch.dtype], torch.Tensor]
    truth: Callable[[np.ndarray], np.ndarray]

    def columns(self, parts: Parts) -> int:
        """Returns the number of weights in a row."""
        return parts["integers"].shape[1] * self.elements

    def blocks(self, data: np.ndarray) -> np.ndarray:
        """Returns the bytes of a matrix, uint8 of (rows, bytes), as (rows, blocks, bytes)."""
        return data.reshape(data.shape[0], -1, self.bytes)

    def parts(self, data: np.ndarray) -> dict[str, torch.Tensor]:
        """Returns the tensors for the bytes of a matrix, each in memory of its own."""
        split = self.split(self.blocks(data))
        return {name: as_tensor(part) for name, part in split.items()}


def as_tensor(part: np.ndarray | torch.Tensor) -> torch.Tensor:
    """Returns a contiguous tensor; that of an array has memory of its own."""
    if isinstance(part, torch.Tensor):
        return part.contiguous()
    return torch.from_numpy(np.array(part, order="C"))


def half(field: np.ndarray) -> np.ndarray:
    """Reads two bytes per block as an f16 number: (rows, blocks)."""
    return np.ascontiguousarray(field).view(np.float16)[..., 0]


def fields(integers: torch.Tensor, width: int, places: tuple[int, ...]) -> torch.Tensor:
    """Returns fields of `width` bits of each integer, i32.

    Widening first makes the shifts independent of how a compiler treats unsigned bytes.

    Args:
        integers: a tensor with a size of 1 in each dimension where `places` has a larger one.
        places: a shape for the numbers of the fields, which is broadcast with that of `integers`.
            Field 0 is the lowest.
    """
    count = math.prod(places)
    shifts = torch.arange(0, count * width, width, dtype=torch.int32, device=integers.device)
    moved = torch.bitwise_right_shift(integers.to(torch.int32), shifts.view(places))
    return moved & ((1 << width) - 1)
