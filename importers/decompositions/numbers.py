"""Operators on tensors and numbers that torch-mlir supports for tensors only, or not at all."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from importers.decompositions.overloads import takes_overload

# The floating-point dtypes of 16 bits.
REDUCED_FLOATS = (torch.float16, torch.bfloat16)


@takes_overload
def with_tensor(overload: torch._ops.OpOverload, x: Any, y: Any) -> torch.Tensor:
    """Computes an operator with a number as either operand, as a tensor of the promoted dtype."""
    dtype = torch.result_type(x, y)
    return overload.overloadpacket(as_tensor(x, dtype), as_tensor(y, dtype))


@takes_overload
def with_rounded_number(overload: torch._ops.OpOverload, x: Any, y: Any) -> Any:
    """Computes an operator of an f16 or bf16 tensor and a number, rounded to its dtype.

    Returns NotImplemented for other dtypes, and if rounding does not change the number.
    """
    tensor, number = (x, y) if isinstance(x, torch.Tensor) else (y, x)
    if tensor.dtype not in REDUCED_FLOATS or not is_changed(number, tensor.dtype):
        return NotImplemented
    number = rounded(number, tensor.dtype)
    return overload(x, number) if tensor is x else overload(number, y)


def as_tensor(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """Returns a tensor or number as a tensor of a dtype; a number has no dimensions."""
    return x.to(dtype) if isinstance(x, torch.Tensor) else torch.full((), x, dtype=dtype)


def rounded(number: float, dtype: torch.dtype) -> float:
    """Returns the number that an element of a floating-point dtype holds in place of `number`."""
    # Modes that trace would record the tensor.
    with _disable_current_modes():
        return torch.tensor(number, dtype=torch.float64).to(dtype).item()


def is_changed(number: Any, dtype: torch.dtype) -> bool:
    """Returns whether `rounded` changes a number; False for symbolic numbers."""
    return type(number) in (int, float) and rounded(number, dtype) != number == number


def multiply_add(x: torch.Tensor, y: Any, z: torch.Tensor) -> torch.Tensor:
    """Returns `x * y + z`, where `y` is a tensor or a number."""
    return x * y + z
