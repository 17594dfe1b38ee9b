"""Max pooling of integer volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def max_pool3d_of_integers(
    x: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """Returns the maximum of each window and its index (i64) in the flattened last three axes.

    Args:
        x: integers, (N, C, D, H, W) or (C, D, H, W), of static sizes; else NotImplemented.
    """
    sizes = x.shape[-3:]
    if x.is_floating_point() or not all(isinstance(size, int) for size in x.shape):
        return NotImplemented
    kernel, steps, margins, gaps = (
        list(values) * 3 if len(values) == 1 else list(values)
        for values in (kernel_size, stride or kernel_size, padding, dilation)
    )
    # For each element of each window, (*output, *kernel): its index, and whether it is padding.
    index = torch.zeros((), dtype=torch.int64)
    inside = torch.ones((), dtype=torch.bool)
    output = []
    for axis in range(3):
        reach = gaps[axis] * (kernel[axis] - 1) + 1
        room = sizes[axis] + 2 * margins[axis] - reach
        count = (room + (steps[axis] - 1 if ceil_mode else 0)) // steps[axis] + 1
        # The last window has to start in the input or in the padding before it.
        if ceil_mode and (count - 1) * steps[axis] >= sizes[axis] + margins[axis]:
            count -= 1
        starts = torch.arange(count) * steps[axis] - margins[axis]
        place = starts.unsqueeze(-1) + torch.arange(kernel[axis]) * gaps[axis]
        shape = [1] * 6
        shape[axis], shape[3 + axis] = count, kernel[axis]
        place = place.reshape(shape)
        inside = torch.logical_and(inside, torch.logical_and(place >= 0, place < sizes[axis]))
        index = index * sizes[axis] + place.clamp(0, sizes[axis] - 1)
        output.append(count)
    index, inside = index.flatten(3).flatten(0, 2), inside.flatten(3).flatten(0, 2)
    windows = x.flatten(-3).index_select(-1, index.flatten()).unflatten(-1, index.shape)
    windows = torch.where(inside, windows, torch.iinfo(x.dtype).min)
    largest, which = windows.max(-1)
    places = index.expand(windows.shape).gather(-1, which.unsqueeze(-1)).squeeze(-1)
    return largest.unflatten(-1, output), places.unflatten(-1, output)
