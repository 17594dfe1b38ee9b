"""Resizing with antialiasing as two matrix products, whose weights depend on sizes only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

Kernel = Callable[[torch.Tensor], torch.Tensor]


def triangle(x: torch.Tensor) -> torch.Tensor:
    """Returns the weight at a distance from the center, which falls linearly to 0 at 1."""
    return (1 - x).clamp(min=0)


def cubic(a: float) -> Kernel:
    """Returns Keys' cubic kernel, a function of the distance from the center."""

    def kernel(x: torch.Tensor) -> torch.Tensor:
        near = ((a + 2) * x - (a + 3)) * x * x + 1
        far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
        return torch.where(x < 1, near, torch.where(x < 2, far, torch.zeros_like(x)))

    return kernel


# The kernels for antialiasing, and how far they reach. Plain bicubic resizing has a = -0.75.
KERNELS = {"bilinear": (triangle, 1), "bicubic": (cubic(-0.5), 2)}


def antialiased_weights(
    size: int,
    to: int,
    scale: float | None,
    kernel: Kernel,
    reach: int,
    align_corners: bool = False,
) -> torch.Tensor:
    """Returns the weights `[to, size]` (f64) of `size` input elements in `to` output elements.

    Args:
        align_corners: ignores `scale`, and takes the distance of corner elements as the size.
    """
    step = size / to if scale is None or scale <= 0 else 1 / scale
    if align_corners:
        step = (size - 1) / (to - 1) if to > 1 else 0.0
    stretch = max(step, 1.0)
    center = (torch.arange(to, dtype=torch.float64) + 0.5) * step
    place = torch.arange(size, dtype=torch.float64)
    distance = (place + 0.5 - center.unsqueeze(1)).abs() / stretch
    # Use only the elements that PyTorch's kernel visits. The kernel is zero beyond, up to rounding.
    low = (center - reach * stretch + 0.5).to(torch.int64).clamp(min=0).unsqueeze(1)
    high = (center + reach * stretch + 0.5).to(torch.int64).unsqueeze(1)
    visited = (place >= low) & (place < high)
    weights = torch.where(visited, kernel(distance), torch.zeros_like(distance))
    return weights / weights.sum(1, keepdim=True)


def resize(kernel: str) -> Callable[..., Any]:
    """Returns a decomposition of `_upsample_…2d_aa` for the kernel `bilinear` or `bicubic`."""

    def resized(
        x: torch.Tensor,
        output_size: Sequence[int],
        align_corners: bool,
        scales_h: float | None = None,
        scales_w: float | None = None,
    ) -> Any:
        """Resizes floating-point `x` (batch, channels, height, width) to `output_size`."""
        sizes = (*x.shape[-2:], *output_size)
        is_static = all(isinstance(size, int) for size in sizes)
        if not x.is_floating_point() or not is_static:
            return NotImplemented
        height, width, to_height, to_width = sizes
        rows, columns = (
            antialiased_weights(size, to, scale, *KERNELS[kernel], align_corners)
            for size, to, scale in ((height, to_height, scales_h), (width, to_width, scales_w))
        )
        return rows.to(x.dtype) @ (x @ columns.to(x.dtype).T)

    return resized
