"""The description of a layout: how tensors of a model's files hold a packed matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from importers.packed.format import Packing

Tensors = Mapping[str, torch.Tensor]
Config = Mapping[str, Any]


@dataclass(frozen=True)
class PackedMatrix:
    """A packed matrix in the form that a program takes.

    Attributes:
        packing: how the parts represent the matrix.
        parts: its tensors by name. Those of experts have the experts as first axis.
        columns: if the file has groups of columns that are not adjacent: the original place of each
            column, int64. Adjacent columns of the packed matrix are of the same group.
    """

    packing: Packing
    parts: Mapping[str, torch.Tensor]
    columns: torch.Tensor | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the matrix: (rows, columns), or (experts, columns, rows)."""
        integers = self.parts["integers"]
        if integers.dim() == 3:
            return integers.shape[0], self.packing.columns(self.parts)
        of_one = {name: part[0] for name, part in self.parts.items()}
        return integers.shape[0], self.packing.columns(of_one), integers.shape[1]


@dataclass(frozen=True)
class Layout:
    """A layout of packed weights in the files of a model.

    Attributes:
        method: `quant_method` in config.json.
        unsupported: returns the option of `quantization_config` that this layout does not support,
            in a few words, or None.
        main: the last part of the name of a tensor that each packed matrix has.
        required: further tensors that each matrix has.
        optional: tensors that it may have.
        read: returns the packed matrix, (rows, columns) as the weight of `torch.nn.Linear`, from
            its tensors and the configuration. Raises ValueError for tensors that do not fit.
        truth: computes the matrix in NumPy: f32 of (rows, columns).
        is_of_experts: whether the matrices are those of experts, (experts, columns, rows). Their
            tensors are named after a parameter, as `down_proj_blocks`, not after a layer.
    """

    method: str
    unsupported: Callable[[Config], str | None]
    main: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    read: Callable[[Tensors, Config], PackedMatrix]
    truth: Callable[[Tensors, Config], np.ndarray]
    is_of_experts: bool = False

    @property
    def suffix(self) -> str:
        """The end of the names of all `main` tensors."""
        return self.tensor_name("", self.main)

    def tensor_name(self, stem: str, part: str) -> str:
        """Returns the name of a tensor in the files.

        Args:
            stem: the name of the layer or the parameter.
        """
        return f"{stem}_{part}" if self.is_of_experts else f"{stem}.{part}"

    def weight_name(self, stem: str) -> str:
        """Returns the name of the weight in the model."""
        return stem if self.is_of_experts else f"{stem}.weight"


def adjacent(groups: np.ndarray | None, count: int, columns: int) -> np.ndarray | None:
    """Returns the order of columns in which the groups are adjacent; None if they are already.

    Args:
        groups: the group of each column.
        count: the number of groups.
        columns: the number of columns.

    Raises:
        ValueError: if the groups do not have the same size.
    """
    if groups is None:
        return None
    if len(groups) != columns:
        raise ValueError(f"{len(groups)} columns have a group, and there are {columns} columns")
    sizes = np.bincount(groups, minlength=count)
    if len(sizes) != count or (sizes != sizes[0]).any():
        raise ValueError(f"the columns are not in {count} groups of the same size")
    order = np.argsort(groups, kind="stable")
    return None if (order == np.arange(len(order))).all() else order
