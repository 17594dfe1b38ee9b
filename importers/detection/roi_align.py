"""Implements `roi_align` with plain tensor operators, for a feature map or a feature pyramid."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def roi_align(
    feature: torch.Tensor,
    rois: torch.Tensor,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
    aligned: bool,
) -> torch.Tensor:
    """Computes `torchvision.ops.roi_align`.

    Args:
        feature: f32 `[n, c, h, w]`.
        rois: f32 `[k, 5]`: index of the image, corners of the box.
        sampling_ratio: samples per bin along each axis. If 0 or negative, a bin has as many samples
            as pixels, but at most `h` × `w`.

    Returns:
        f32 `[k, c, pooled_height, pooled_width]`.
    """
    level = torch.zeros(rois.shape[0], dtype=torch.int64)
    size = (pooled_height, pooled_width)
    return multiscale_roi_align(
        [feature], rois, level, [spatial_scale], size, sampling_ratio, aligned
    )


def multiscale_roi_align(
    features: Sequence[torch.Tensor],
    rois: torch.Tensor,
    levels: torch.Tensor,
    scales: Sequence[float],
    size: tuple[int, int],
    sampling_ratio: int,
    aligned: bool = False,
) -> torch.Tensor:
    """Computes `roi_align` of each box on the feature map of its own level.

    Args:
        features: for each level, f32 `[n, c, h, w]`.
        rois: f32 `[k, 5]`: index of the image, corners of the box.
        levels: i64 `[k]`, indices into `features`.
        scales: for each level, the factor from box coordinates to those of the feature map.

    Returns:
        f32 `[k, c, *size]`.
    """
    # All levels are in one table of pixels, so that each box only reads its own level.
    pixels = torch.cat([f.permute(0, 2, 3, 1).reshape(-1, f.shape[1]) for f in features])
    shapes = [tuple(f.shape[-2:]) for f in features]
    starts = [0]
    for feature in features:
        starts.append(starts[-1] + feature.shape[0] * feature.shape[2] * feature.shape[3])
    height, width = (
        _table([shape[axis] for shape in shapes], levels, torch.int64) for axis in (0, 1)
    )
    image = rois[:, 0].to(torch.int64)
    start = _table(starts[:-1], levels, torch.int64) + image * height * width
    scale = _table(scales, levels, torch.float32)
    corners = rois[:, 1:] * scale[:, None] - (0.5 if aligned else 0.0)
    x1, y1, x2, y2 = corners.unbind(1)
    rows = _Axis(y1, y2, height, max(s[0] for s in shapes), size[0], sampling_ratio, aligned)
    columns = _Axis(x1, x2, width, max(s[1] for s in shapes), size[1], sampling_ratio, aligned)

    def corner(row: torch.Tensor, column: torch.Tensor) -> torch.Tensor:
        index = start[:, None, None] + row[:, :, None] * width[:, None, None] + column[:, None, :]
        values = pixels.index_select(0, index.reshape(-1))
        return values.reshape(*index.shape, pixels.shape[1])

    total = 0
    for row, row_weight in rows.neighbors:
        for column, column_weight in columns.neighbors:
            weight = row_weight[:, :, None, None] * column_weight[:, None, :, None]
            total = total + weight * corner(row, column)
    binned = total.reshape(
        rois.shape[0], size[0], rows.grid, size[1], columns.grid, pixels.shape[1]
    )
    samples = (rows.samples * columns.samples).reshape(-1, 1, 1, 1)
    return (binned.sum((2, 4)) / samples).permute(0, 3, 1, 2)


def _table(values: Sequence[float], index: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    if len(values) == 1:
        return torch.full_like(index, values[0], dtype=dtype)
    return torch.tensor(values, dtype=dtype).index_select(0, index)


class _Axis:
    """The samples of all boxes along one axis.

    Attributes:
        grid: number of computed samples per bin.
        samples: f32 `[k]`, number of samples per bin that count.
        neighbors: for all samples, the pixel before and the one after, and their weights, each
            `[k, bins·grid]`. A sample that does not count has weights of zero.
    """

    def __init__(
        self,
        start: torch.Tensor,
        end: torch.Tensor,
        size: torch.Tensor,
        largest: int,
        bins: int,
        sampling_ratio: int,
        aligned: bool,
    ):
        length = end - start if aligned else (end - start).clamp(min=1.0)
        step = length / bins
        adaptive = sampling_ratio <= 0
        self.grid = largest if adaptive else sampling_ratio
        samples = torch.ceil(step) if adaptive else torch.full_like(step, sampling_ratio)
        self.samples = samples.clamp(min=1)
        inside = torch.arange(self.grid) + 0.5
        places = (
            start[:, None, None]
            + torch.arange(bins)[:, None] * step[:, None, None]
            + inside * (step / self.samples)[:, None, None]
        )
        size = size[:, None, None]
        counts = (places >= -1.0) & (places <= size)
        if adaptive:
            counts = counts & (inside < samples[:, None, None])
        places = places.clamp(min=0)
        last = size - 1
        low = torch.minimum(places.to(torch.int64), last)
        high = torch.minimum(low + 1, last)
        after = torch.where(low >= last, 0.0, places - low)
        before, after = (torch.where(counts, w, 0.0).flatten(1) for w in (1 - after, after))
        self.neighbors = ((low.flatten(1), before), (high.flatten(1), after))
