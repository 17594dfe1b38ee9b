"""Resizing with antialiasing as two matrix products, whose weights depend on sizes only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def _triangle(x: torch.Tensor) -> torch.Tensor:
    return (1 - x).clamp(min=0)


def _cubic(x: torch.Tensor) -> torch.Tensor:
    """Evaluates Keys' cubic kernel with a = -0.5, as for antialiasing (plain bicubic has -0.75)."""
    near = (1.5 * x - 2.5) * x * x + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return torch.where(x < 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


def _weights(
    size: int, to: int, scale: float | None, kernel: Callable, reach: int, dtype: torch.dtype
) -> torch.Tensor:
    """Returns the weights `[to, size]` of `size` input elements in `to` output elements."""
    step = size / to if scale is None or scale <= 0 else 1 / scale
    stretch = max(step, 1.0)
    center = (torch.arange(to, dtype=torch.float64) + 0.5) * step
    place = torch.arange(size, dtype=torch.float64)
    distance = (place + 0.5 - center.unsqueeze(1)).abs() / stretch
    # Use only the elements that PyTorch's kernel visits. The kernel is zero beyond, up to rounding.
    low = (center - reach * stretch + 0.5).to(torch.int64).clamp(min=0).unsqueeze(1)
    high = (center + reach * stretch + 0.5).to(torch.int64).unsqueeze(1)
    visited = (place >= low) & (place < high)
    weights = torch.where(visited, kernel(distance), torch.zeros_like(distance))
    return (weights / weights.sum(1, keepdim=True)).to(dtype)


def resize(kernel: str) -> Callable[..., Any]:
    """Returns a decomposition of `_upsample_…2d_aa` for the kernel `bilinear` or `bicubic`."""
    function, reach = {"bilinear": (_triangle, 1), "bicubic": (_cubic, 2)}[kernel]

    def resized(
        x: torch.Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        """Resizes floating-point `x` (batch, channels, height, width) to `output_size`."""
        sizes = (*x.shape[-2:], *output_size)
        if align_corners or not all(isinstance(size, int) for size in sizes):
            return NotImplemented
        height, width, to_height, to_width = sizes
        rows = _weights(height, to_height, scales_h, function, reach, x.dtype)
        columns = _weights(width, to_width, scales_w, function, reach, x.dtype)
        return rows @ (x @ columns.T)

    return resized
