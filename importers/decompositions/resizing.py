"""Resizing with antialiasing, and of uint8 images.

With antialiasing, it is two matrix products, whose weights depend on sizes only. uint8 images are
resized in the integer arithmetic of eager's kernels, which round the weights to 16-bit integers,
resize the rows and then the columns, and round to uint8 after each of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from importers.decompositions.overloads import takes_overload

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


@takes_overload
def resize(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Any:
    """Resizes floating-point `x` (batch, channels, height, width) with antialiasing.

    Returns NotImplemented for other dtypes and for dynamic heights and widths.
    """
    kernel = _kernel(overload)
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


def _kernel(overload: torch._ops.OpOverload) -> str:
    return "bicubic" if "bicubic" in str(overload) else "bilinear"


# The kernels without antialiasing, and how far they reach.
_PLAIN = {"bilinear": (KERNELS["bilinear"][0], 1), "bicubic": (cubic(-0.75), 2)}
# The largest number of bits after the binary point of a weight.
_MOST_BITS = 22


@takes_overload
def resize_bytes(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    output_size: Sequence[int],
    align_corners: bool,
    scales_h: float | None = None,
    scales_w: float | None = None,
) -> Any:
    """Resizes uint8 `x` (batch, channels, height, width) to `output_size`.

    Returns NotImplemented for other dtypes and for dynamic heights and widths.
    """
    kernel, antialias = _kernel(overload), "_aa" in str(overload)
    sizes = (*x.shape[-2:], *output_size)
    is_static = all(isinstance(size, int) for size in sizes)
    if x.dtype != torch.uint8 or not is_static or (antialias and align_corners):
        return NotImplemented
    height, width, to_height, to_width = sizes

    def weights(size: int, to: int, scale: float | None) -> torch.Tensor:
        if antialias:
            return antialiased_weights(size, to, scale, *KERNELS[kernel])
        return _weights(size, to, scale, align_corners, *_PLAIN[kernel])

    columns, bits = _rounded(lambda: weights(width, to_width, scales_w))
    wide = _shifted(x.to(torch.int32) @ columns.T, bits)
    rows, bits = _rounded(lambda: weights(height, to_height, scales_h))
    return _shifted(rows @ wide, bits).to(torch.uint8)


@takes_overload
def resize_bytes_by_factors(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
) -> Any:
    """Resizes `x` to a size, or by factors; rounds the new size down. See `resize_bytes`."""
    factors = scale_factors or (None, None)
    if output_size is None:
        pairs = zip(x.shape[-2:], factors, strict=True)
        if not all(isinstance(size, int) for size in x.shape[-2:]):
            return NotImplemented
        output_size = [int(size * factor) for size, factor in pairs]
    return resize_bytes(overload, x, output_size, align_corners, *factors)


def _weights(
    size: int,
    to: int,
    scale: float | None,
    align_corners: bool,
    kernel: Kernel,
    reach: int,
) -> torch.Tensor:
    """Returns the weights `[to, size]` (f64) of `size` elements in `to`, without antialiasing.

    Elements beyond the border are those at the border.
    """
    place = torch.arange(to, dtype=torch.float64)
    if align_corners:
        center = place * ((size - 1) / (to - 1) if to > 1 else 0.0)
    else:
        step = size / to if scale is None or scale <= 0 else 1 / scale
        center = (place + 0.5) * step - 0.5
    nearest = torch.floor(center).to(torch.int64)
    weights = torch.zeros(to, size, dtype=torch.float64)
    for offset in range(1 - reach, reach + 1):
        read = nearest + offset
        weight = kernel((read - center).abs())
        one_hot = torch.arange(size) == read.clamp(0, size - 1).unsqueeze(1)
        weights = weights + torch.where(one_hot, weight.unsqueeze(1), 0.0)
    return weights


def _rounded(weights: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, int]:
    """Returns weights as multiples (i32) of 2^-n, and n. The largest has at most 15 bits."""
    with _disable_current_modes():
        largest = float(weights().max())
    bits = next(
        n for n in range(_MOST_BITS + 1) if n == _MOST_BITS or largest * 2 ** (n + 1) + 0.5 >= 2**15
    )
    scaled = weights() * 2**bits
    return torch.where(scaled < 0, scaled - 0.5, scaled + 0.5).to(torch.int32), bits


def _shifted(sums: torch.Tensor, bits: int) -> torch.Tensor:
    """Divides by 2^bits, rounds to the nearest integer, and limits the result to 0 to 255."""
    return ((sums + (1 << (bits - 1))) >> bits).clamp(0, 255)
