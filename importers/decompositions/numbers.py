"""Operators on a tensor and a number that torch-mlir supports for two tensors only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def with_tensor(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[Any, Any], torch.Tensor]:
    """Wraps `function` to take a number as either operand, as a tensor of the promoted dtype."""

    def with_number(x: Any, y: Any) -> torch.Tensor:
        dtype = torch.result_type(x, y)
        return function(as_tensor(x, dtype), as_tensor(y, dtype))

    return with_number


def as_tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor or number as a tensor of a dtype; a number has no dimensions."""
    return x.to(dtype) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype)
