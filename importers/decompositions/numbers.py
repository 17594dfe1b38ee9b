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
        return function(
            *(
                each.to(dtype)
                if isinstance(each, torch.Tensor)
                else torch.full((), each, dtype=dtype)
                for each in (x, y)
            )
        )

    return with_number
