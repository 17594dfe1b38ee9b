"""Operators about how a tensor lies in memory, which values know nothing of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def empty_in_order(size: Sequence[int], stride: Sequence[int], **options: Any) -> torch.Tensor:
    """A tensor of `size` whose elements are not set; its strides are not those asked for."""
    return torch.ops.aten.empty.memory_format(size, **options)


def checked_at_capture(*_args: Any, **_kwargs: Any) -> None:
    """Nothing: type, device and sizes that are asserted were true when the program was traced."""


def copy_in_order(x: torch.Tensor, stride: Sequence[int]) -> torch.Tensor:
    """`x`; its strides are not those asked for."""
    return x.clone()


def scalar_tensor(value: float, *, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor without dimensions."""
    return torch.full((), value, dtype=dtype, device=device)
