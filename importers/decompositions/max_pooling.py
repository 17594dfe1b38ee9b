"""Max pooling of integers, and adaptive max pooling with windows of several sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._meta_registrations import pooling_output_shape


def max_pool_of_integers(axes: int) -> Callable[..., Any]:
    """Returns a decomposition of `aten.max_pool2d_with_indices` or `aten.max_pool3d_with_indices`.

    Args:
        axes: the number of pooled axes, 2 or 3.
    """

    def max_pool(
        x: torch.Tensor,
        kernel_size: Sequence[int],
        stride: Sequence[int] = (),
        padding: Sequence[int] = (0,),
        dilation: Sequence[int] = (1,),
        ceil_mode: bool = False,
    ) -> Any:
        """Returns the maximum of each window and its index (i64) in the flattened pooled axes.

        Args:
            x: integers of static pooled sizes, with or without a batch; else NotImplemented.
        """
        sizes = x.shape[-axes:]
        if x.is_floating_point() or not all(isinstance(size, int) for size in sizes):
            return NotImplemented
        kernel, steps, margins, gaps = (
            list(values) * axes if len(values) == 1 else list(values)
            for values in (kernel_size, stride or kernel_size, padding, dilation)
        )
        places = []
        for axis, size in enumerate(sizes):
            count = pooling_output_shape(
                size, kernel[axis], margins[axis], steps[axis], gaps[axis], ceil_mode
            )
            starts = torch.arange(count) * steps[axis] - margins[axis]
            places.append(starts.unsqueeze(-1) + torch.arange(kernel[axis]) * gaps[axis])
        return _largest(x, places)

    return max_pool


def adaptive_max_pool(x: torch.Tensor, output_size: Sequence[int]) -> Any:
    """Computes `aten.adaptive_max_pool2d` and `aten.adaptive_max_pool3d`.

    Returns NotImplemented if the windows along each axis have one size, or if a pooled size is
    dynamic.
    """
    sizes = x.shape[-len(output_size) :]
    if not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    if all(count and size % count == 0 for size, count in zip(sizes, output_size, strict=True)):
        return NotImplemented
    places = [_windows(size, count) for size, count in zip(sizes, output_size, strict=True)]
    return _largest(x, places)


def _windows(size: int, count: int) -> torch.Tensor:
    """Returns the positions that `count` windows read, i64 (windows, elements); -1 for none."""
    number = torch.arange(count)
    start = torch.div(number * size, count, rounding_mode="floor")
    end = torch.div((number + 1) * size + count - 1, count, rounding_mode="floor")
    widths = [-(-(i + 1) * size // count) - i * size // count for i in range(count)]
    place = start.unsqueeze(-1) + torch.arange(max(widths, default=0))
    return torch.where(place < end.unsqueeze(-1), place, -1)


def _largest(x: torch.Tensor, places: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the maximum of each window and its index (i64) in the flattened last axes of `x`.

    Among equal numbers, the index is that of the first; among NaN, that of the last.

    Args:
        places: i64 (windows, elements) for each of the last axes: where the windows read along it.
            Places outside the axis are ignored.
    """
    axes = len(places)
    sizes = x.shape[-axes:]
    # For each element of each window, (*windows, *elements): its index, and whether it exists.
    index = torch.zeros((), dtype=torch.int64)
    inside = torch.ones((), dtype=torch.bool)
    for axis, (place, size) in enumerate(zip(places, sizes, strict=True)):
        shape = [1] * (2 * axes)
        shape[axis], shape[axes + axis] = place.shape
        place = place.reshape(shape)
        inside = torch.logical_and(inside, torch.logical_and(place >= 0, place < size))
        index = index * size + place.clamp(0, size - 1)
    index, inside = (
        part.flatten(axes).flatten(0, axes - 1) for part in torch.broadcast_tensors(index, inside)
    )
    windows = x.flatten(-axes).index_select(-1, index.flatten()).unflatten(-1, index.shape)
    least = -torch.inf if x.is_floating_point() else torch.iinfo(x.dtype).min
    windows = torch.where(inside, windows, least)
    largest, which = windows.max(-1)
    if x.is_floating_point():
        last = torch.where(torch.isnan(windows), torch.arange(index.shape[-1]), 0).amax(-1)
        which = torch.where(torch.isnan(largest), last, which)
    found = index.expand(windows.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1)
    output = [place.shape[0] for place in places]
    return largest.unflatten(-1, output), found.unflatten(-1, output)
