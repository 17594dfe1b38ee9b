"""Matrix products of 8-bit integers."""

from __future__ import annotations

import torch

_EIGHT_BITS = (torch.int8, torch.uint8)


def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns `a @ b` of 8-bit integers `[n, k]` and `[k, m]`, or NotImplemented for others.

    The sum is in i32; the result wraps around.
    """
    if a.dtype not in _EIGHT_BITS:
        return NotImplemented
    return torch.mm(a.to(torch.int32), b.to(torch.int32)).to(a.dtype)


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Computes `mm` for batches of matrices."""
    if a.dtype not in _EIGHT_BITS:
        return NotImplemented
    return torch.bmm(a.to(torch.int32), b.to(torch.int32)).to(a.dtype)


def int_mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Returns `a @ b` of i8 `[n, k]` and `[k, m]`, in i32."""
    return torch.mm(a.to(torch.int32), b.to(torch.int32))
