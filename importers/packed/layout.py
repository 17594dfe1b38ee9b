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
        parts: its tensors by name.
        columns: if the file has groups of columns that are not adjacent: the original place of each
            column, int64. Adjacent columns of the packed matrix are of the same group.
    """

    packing: Packing
    parts: Mapping[str, torch.Tensor]
    columns: torch.Tensor | None = None


@dataclass(frozen=True)
class Layout:
    """A layout of packed weights in the files of a model.

    Attributes:
        method: `quant_method` in config.json.
        unsupported: returns what the `quantization_config` asks for and this layout does not
            support, in a few words, or None.
        main: the last part of the name of a tensor that each packed matrix has.
        required: further tensors that each matrix has.
        optional: tensors that it may have.
        read: returns the packed matrix, (rows, columns) as the weight of `torch.nn.Linear`, from
            its tensors and the configuration. Raises ValueError for tensors that do not fit.
        truth: computes the matrix in NumPy: f32 of (rows, columns).
    """

    method: str
    unsupported: Callable[[Config], str | None]
    main: str
    required: tuple[str, ...]
    optional: tuple[str, ...]
    read: Callable[[Tensors, Config], PackedMatrix]
    truth: Callable[[Tensors, Config], np.ndarray]


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
