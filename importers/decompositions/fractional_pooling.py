"""Max pooling over windows at random positions."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def fractional_max_pool(
    x: torch.Tensor,
    kernel_size: Sequence[int],
    output_size: Sequence[int],
    random_samples: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the maximum of each window and its index (i64) in the flattened last axes.

    Args:
        x: (N, C, ...) or (C, ...), with an axis for each size of the kernel.
        random_samples: (N, C, axes), from 0 to 1. For 2-d pooling, the sample of the last axis is
            first.
    """
    axes = len(kernel_size)
    sizes = x.shape[-axes:]
    lead = x.shape[:-axes]
    samples = random_samples.flatten(0, 1)[: _product(lead)]
    # The flattened index of each element of each window: (rows, *output, *kernel).
    index = torch.zeros((), dtype=torch.int64)
    for axis in range(axes):
        # Eager takes the samples of a plane in the order width, height.
        sample = samples[:, axes - 1 - axis if axes == 2 else axis]
        start = _starts(sample, sizes[axis], output_size[axis], kernel_size[axis])
        place = start.unsqueeze(-1) + torch.arange(kernel_size[axis])
        shape = [place.shape[0], *[1] * (2 * axes)]
        shape[1 + axis], shape[1 + axes + axis] = output_size[axis], kernel_size[axis]
        index = index * sizes[axis] + place.reshape(shape)
    rows, windows = index.shape[0], _product(output_size)
    size = _product(kernel_size)
    index = index.reshape(rows, windows, size)
    flat = x.reshape(rows, _product(sizes))
    values = flat.gather(1, index.reshape(rows, windows * size)).reshape(index.shape)
    largest, which = values.max(-1)
    # Of several NaN, eager returns the index of the last one.
    order = torch.arange(values.shape[-1])
    last = torch.where(torch.isnan(values), order, -1).amax(-1)
    which = torch.where(last < 0, which, last)
    place = index.gather(-1, which.unsqueeze(-1)).squeeze(-1)
    shape = (*lead, *output_size)
    return largest.reshape(shape), place.reshape(shape)


def _starts(sample: torch.Tensor, size: int, count: int, window: int) -> torch.Tensor:
    """Returns the first index of each window along an axis, i64 (rows, count)."""
    last = torch.full((sample.shape[0], 1), size - window, dtype=torch.int64)
    if count == 1:
        return last
    step = torch.full((), size - window, dtype=sample.dtype) / (count - 1)
    sample = sample.unsqueeze(-1)
    before = ((torch.arange(count - 1).to(sample.dtype) + sample) * step).to(torch.int64)
    return torch.cat([before - (sample * step).to(torch.int64), last], 1)


def _product(sizes: Sequence[int]) -> int:
    product = 1
    for size in sizes:
        product = product * size
    return product
