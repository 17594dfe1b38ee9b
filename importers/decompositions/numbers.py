"""Operators on tensors and numbers that torch-mlir supports for tensors only, or not at all."""

from __future__ import annotations

from typing import Any

import torch

from importers.decompositions.overloads import takes_overload


@takes_overload
def with_tensor(overload: torch._ops.OpOverload, x: Any, y: Any) -> torch.Tensor:
    """Computes an operator with a number as either operand, as a tensor of the promoted dtype."""
    dtype = torch.result_type(x, y)
    return overload.overloadpacket(as_tensor(x, dtype), as_tensor(y, dtype))


def as_tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor or number as a tensor of a dtype; a number has no dimensions."""
    return x.to(dtype) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype)


def multiply_add(x: torch.Tensor, y: Any, z: torch.Tensor) -> torch.Tensor:
    """Returns `x * y + z`, where `y` is a tensor or a number."""
    return x * y + z
