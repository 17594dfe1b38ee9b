"""Places of elements, and elements at places."""

from __future__ import annotations

from typing import Any

import torch


def of_a_number(x: torch.Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """`argmax` or `argmin` of a tensor without dimensions, i64; others are left."""
    return NotImplemented if x.dim() else torch.zeros((), dtype=torch.int64)


def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    """The elements of `x` at the places `index`, of any shape."""
    return torch.ops.aten.index.Tensor(x.reshape(-1), [index])
