"""Average, maximum and fractional maximum pooling.

Windows may be larger than the input, of several sizes (adaptive), or at random positions. There may
be no batch, and maximum pooling also takes integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import torch
from torch._meta_registrations import pooling_output_shape

from importers.decompositions.overloads import takes_overload


def avg_pool2d(
    x: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    *rest: Any,
) -> Any:
    """Computes `aten.avg_pool2d` with windows cut to the padded input.

    A window larger than the padded input needs `ceil_mode`, and is the only one along its axis.
    Elements beyond the padding do not count, so a shorter window has the same result.
    Returns NotImplemented if all windows fit, and for sizes that are not known at capture.

    Args:
        rest: `ceil_mode`, `count_include_pad` and `divisor_override`.
    """
    height, width = x.shape[-2:]
    window, margin = _per_axis(kernel_size, 2), _per_axis(padding, 2)
    reach = [size + 2 * pad for size, pad in zip((height, width), margin, strict=True)]
    if not all(isinstance(length, int) for length in reach):
        return NotImplemented
    fitting = [min(side, length) for side, length in zip(window, reach, strict=True)]
    if fitting == window:
        return NotImplemented
    # The default step is the length of the window. A single window needs no step, but the lowering
    # pads the input to the length of the step.
    steps = [
        side if side < asked else step
        for side, asked, step in zip(
            fitting, window, _per_axis(stride or kernel_size, 2), strict=True
        )
    ]
    return torch.ops.aten.avg_pool2d.default(x, fitting, steps, margin, *rest)


@takes_overload
def without_batch(
    overload: torch._ops.OpOverload, x: torch.Tensor, *args: Any, **kwargs: Any
) -> Any:
    """Adds a batch of one to a tensor without a batch; NotImplemented for other tensors."""
    if x.dim() != _axes(overload) + 1:
        return NotImplemented
    result = overload(x.unsqueeze(0), *args, **kwargs)
    if isinstance(result, torch.Tensor):
        return result.squeeze(0)
    # The maxima, and their indices.
    return tuple(part.squeeze(0) for part in result)


@takes_overload
def with_stride(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    *args: Any,
) -> Any:
    """Passes the default stride, the size of the window; NotImplemented if there is a stride."""
    return NotImplemented if stride else overload(x, kernel_size, kernel_size, *args)


def _axes(overload: torch._ops.OpOverload) -> int:
    """Returns the number of pooled axes."""
    return next(axes for axes in (1, 2, 3) if f"pool{axes}d" in str(overload))


def _per_axis(sizes: Sequence[int], axes: int) -> list[int]:
    return list(sizes) * axes if len(sizes) == 1 else list(sizes)


def _window(
    axes: int,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> list[list[int]]:
    """Returns kernel size, stride, padding and dilation, each with a number for every axis."""
    given = kernel_size, stride or kernel_size, padding, dilation
    return [_per_axis(values, axes) for values in given]


@takes_overload
def max_pool_of_integers(
    overload: torch._ops.OpOverload,
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
    axes = _axes(overload)
    sizes = x.shape[-axes:]
    if x.is_floating_point() or not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    kernel, steps, margins, gaps = _window(axes, kernel_size, stride, padding, dilation)
    places = []
    for axis, size in enumerate(sizes):
        count = pooling_output_shape(
            size, kernel[axis], margins[axis], steps[axis], gaps[axis], ceil_mode
        )
        starts = torch.arange(count) * steps[axis] - margins[axis]
        places.append(starts.unsqueeze(-1) + torch.arange(kernel[axis]) * gaps[axis])
    return _largest(x, places)


@takes_overload
def max_pool_at_special_numbers(
    overload: torch._ops.OpOverload,
    x: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    *rest: Any,
) -> Any:
    """Returns the maximum of each window and its index (i64) in the flattened pooled axes.

    Only corrects the indices of maxima that are NaN or negative infinity: the last NaN, or the
    first element. Returns NotImplemented for integers, and for the calls that it makes itself.

    Args:
        rest: `ceil_mode`.
    """
    if _is_corrected.get() or not x.is_floating_point():
        return NotImplemented
    axes = _axes(overload)
    # torch-mlir crashes on lists with one number for all axes.
    kernel, steps, margins, gaps = _window(axes, kernel_size, stride, padding, dilation)
    sizes = x.shape[-axes:]
    count = _product(sizes)
    # The maximum of the indices of NaN in each window. f32 has all integers up to 2**24.
    is_small = isinstance(count, int) and count <= 2**24
    place = torch.arange(count, dtype=torch.float32 if is_small else torch.float64).reshape(sizes)
    of_nan = torch.where(torch.isnan(x), place, -1)
    token = _is_corrected.set(True)
    try:
        largest, index = overload(x, kernel, steps, margins, gaps, *rest)
        last, _ = overload(of_nan, kernel, steps, margins, gaps, *rest)
    finally:
        _is_corrected.reset(token)
    first = torch.zeros((), dtype=torch.int64)
    for axis, (size, windows) in enumerate(zip(sizes, largest.shape[-axes:], strict=True)):
        start = torch.arange(windows) * steps[axis] - margins[axis]
        # The padding is at most half of the window.
        start = torch.where(start < 0, torch.remainder(start, gaps[axis]), start)
        first = first.unsqueeze(-1) * size + start
    index = torch.where(torch.eq(largest, -torch.inf), first, index)
    return largest, torch.where(last >= 0, last.to(torch.int64), index)


# Whether `max_pool_at_special_numbers` makes the current call.
_is_corrected: ContextVar[bool] = ContextVar("_is_corrected", default=False)


def adaptive_avg_pool(x: torch.Tensor, output_size: Sequence[int]) -> Any:
    """Computes adaptive average pooling for dynamic sizes, one axis after the other.

    Returns NotImplemented for static sizes. PyTorch's decomposition of dynamic ones is only valid
    for sizes with the same remainders as in the example.

    Args:
        x: the last axes are pooled.
        output_size: the number of windows along each of these axes.
    """
    sizes = x.shape[-len(output_size) :]
    if all(isinstance(size, int) for size in (*sizes, *output_size)):
        return NotImplemented
    result = x if x.dtype == torch.float64 else x.float()
    for axis, (size, count) in enumerate(zip(sizes, output_size, strict=True), -len(sizes)):
        number, place = torch.arange(count).unsqueeze(-1), torch.arange(size)
        start = torch.div(number * size, count, rounding_mode="floor")
        end = torch.div((number + 1) * size + count - 1, count, rounding_mode="floor")
        inside = torch.logical_and(place >= start, place < end)
        windows = torch.where(inside, result.movedim(axis, -1).unsqueeze(-2), 0.0)
        result = (windows.sum(-1) / (end - start).squeeze(-1)).movedim(-1, axis)
    return result.to(x.dtype)


def adaptive_max_pool(x: torch.Tensor, output_size: Sequence[int]) -> Any:
    """Computes `aten.adaptive_max_pool2d` and `aten.adaptive_max_pool3d`.

    Returns NotImplemented if a pooled size is dynamic.
    """
    sizes = x.shape[-len(output_size) :]
    if not all(isinstance(size, int) for size in sizes):
        return NotImplemented
    if all(count and size % count == 0 for size, count in zip(sizes, output_size, strict=True)):
        window = [size // count for size, count in zip(sizes, output_size, strict=True)]
        return getattr(torch.ops.aten, f"max_pool{len(window)}d_with_indices").default(x, window)
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
