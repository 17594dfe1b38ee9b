"""Operators on a tensor and a number that torch-mlir supports for two tensors only."""

from __future__ import annotations

from collections.abc import Callable

import torch


def with_tensor(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """Wraps `function` to take a number, as a tensor of the promoted dtype."""

    def with_number(x: torch.Tensor, number: int) -> torch.Tensor:
        dtype = torch.result_type(x, number)
        return function(x.to(dtype), torch.full((), number, dtype=dtype))

    return with_number
