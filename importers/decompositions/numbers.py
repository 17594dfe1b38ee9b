"""Operators on a tensor and a number that torch-mlir takes on two tensors only."""

from __future__ import annotations

from collections.abc import Callable

import torch


def with_tensor(
    function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> Callable[[torch.Tensor, int], torch.Tensor]:
    """`function` of a tensor and of a tensor of its type in place of the number."""

    def with_number(x: torch.Tensor, number: int) -> torch.Tensor:
        dtype = torch.result_type(x, number)
        return function(x.to(dtype), torch.full((), number, dtype=dtype))

    return with_number
