"""Running logarithms of sums of exponentials."""

from __future__ import annotations

from typing import Any

import torch


def logcumsumexp(x: torch.Tensor, dim: int) -> Any:
    """Returns log(e^x0 + ... + e^xi) along `dim` for each i; NaN from the first NaN on.

    Each round doubles the number of elements in each sum, so there are as many rounds as the size
    has bits. If the size is unknown, each element is summed with all before it. Returns
    NotImplemented for complex `x`.
    """
    if x.is_complex():
        return NotImplemented
    if x.dtype in (torch.float16, torch.bfloat16):
        return torch.logcumsumexp(x.float(), dim).to(x.dtype)
    if not x.dim():
        return x.clone()
    size = x.shape[dim]
    if not isinstance(size, int):
        row = x.transpose(dim, -1).unsqueeze(-2)
        place = torch.arange(size)
        seen = torch.where(place <= place.unsqueeze(1), row, -torch.inf)
        return torch.logsumexp(seen, -1).transpose(dim, -1)
    distance = 1
    while distance < size:
        before = torch.full_like(x.narrow(dim, 0, distance), -torch.inf)
        shifted = torch.cat([before, x.narrow(dim, 0, size - distance)], dim)
        x = torch.logaddexp(x, shifted)
        distance *= 2
    return x.clone() if size <= 1 else x
