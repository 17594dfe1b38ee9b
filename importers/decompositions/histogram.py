"""Histograms as comparisons and sums, which every output dialect supports."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

# The most bins that are all compared with each element.
_MOST_COMPARED = 64


def histc(x: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    """Counts the elements of floating-point `x` (any shape) in each bin: `[bins]`, x's dtype.

    Elements outside [min, max] and NaN are not counted; `max` itself belongs to the last bin. If
    min = max, the range is that of the data.
    """
    if any(isinstance(size, int) and size == 0 for size in x.shape):
        return torch.zeros((bins,), dtype=x.dtype)
    x = x.reshape(-1)
    if min == max:
        low, high = x.amin(), x.amax()
        flat = low == high
        low, high = torch.where(flat, low - 1, low), torch.where(flat, high + 1, high)
    else:
        low, high = (torch.full((), edge, dtype=x.dtype) for edge in (min, max))
    inside = (x >= low) & (x <= high)
    # The same expression as in PyTorch's kernel, so that elements at an edge round alike.
    position = (torch.where(inside, x, low) - low) * bins / (high - low)
    index = position.to(torch.int64).clamp(0, bins - 1)
    if bins > _MOST_COMPARED:
        counts = torch.zeros((bins,), dtype=torch.int64)
        return counts.scatter_add(0, index, inside.to(torch.int64)).to(x.dtype)
    hits = (index.unsqueeze(1) == torch.arange(bins)) & inside.unsqueeze(1)
    return hits.sum(0).to(x.dtype)


def histogram(
    x: torch.Tensor,
    bins: int,
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Counts the elements of `x` (any shape) in each of `bins` bins of equal width.

    The default range is that of the data.

    Returns:
        The sums of weights, or counts, `[bins]` and the edges `[bins + 1]`, of x's dtype.
    """
    edges = _equal_bins(x.reshape(-1), bins, range)
    return histogram_between(x, edges, weight=weight, density=density)


def histogram_between(
    x: torch.Tensor,
    edges: torch.Tensor,
    *,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `histogram` for ascending bin `edges`. The last edge belongs to the last bin."""
    hits = _hits(x.reshape(-1), edges)
    weights = torch.ones_like(hits, dtype=x.dtype) if weight is None else weight.reshape(-1, 1)
    counts = torch.where(hits, weights, 0).sum(0).to(x.dtype)
    if density:
        counts = counts / counts.sum() / (edges[1:] - edges[:-1])
    return counts, edges.clone()


def edges_along_axes(
    x: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> list[torch.Tensor]:
    """Returns the edges of bins of equal width for each coordinate of the points `x[..., axes]`.

    The default range is that of the data. `range` has a pair for each coordinate.
    """
    columns = x.reshape(-1, len(bins)).unbind(1)
    ranges = [None if range is None else range[2 * i : 2 * i + 2] for i, _ in enumerate(bins)]
    return [_equal_bins(*each) for each in zip(columns, bins, ranges, strict=True)]


def histogram_along_axes(
    x: torch.Tensor,
    bins: Sequence[int],
    *,
    range: Sequence[float] | None = None,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> torch.Tensor:
    """Counts the points `x[..., axes]` in bins of equal width along each axis; x's dtype."""
    edges = edges_along_axes(x, bins, range=range)
    return histogram_between_along_axes(x, edges, weight=weight, density=density)


def histogram_between_along_axes(
    x: torch.Tensor,
    edges: Sequence[torch.Tensor],
    *,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> torch.Tensor:
    """Computes `histogram_along_axes` for ascending `edges` along each axis."""
    bins = [each.shape[0] - 1 for each in edges]
    points = x.reshape(-1, len(edges))
    # The row-major index of the bin of each point, and whether the point is in a bin.
    index = torch.zeros_like(points[:, 0], dtype=torch.int64)
    inside = torch.ones_like(index, dtype=torch.bool)
    for column, own, count in zip(points.unbind(1), edges, bins, strict=True):
        hits = _hits(column, own)
        index = index * count + torch.where(hits, torch.arange(count), 0).sum(1)
        inside = torch.logical_and(inside, hits.any(1))
    hits = torch.eq(index.unsqueeze(1), torch.arange(math.prod(bins)))
    hits = torch.logical_and(hits, inside.unsqueeze(1))
    weights = torch.ones_like(hits, dtype=x.dtype) if weight is None else weight.reshape(-1, 1)
    counts = torch.where(hits, weights, 0).sum(0).to(x.dtype).reshape(bins)
    if not density:
        return counts
    counts = counts / counts.sum()
    for axis, own in enumerate(edges):
        shape = [-1 if each == axis else 1 for each, _ in enumerate(edges)]
        counts = counts / (own[1:] - own[:-1]).reshape(shape)
    return counts


def _equal_bins(values: torch.Tensor, bins: int, range: Sequence[float] | None) -> torch.Tensor:
    """Returns the edges `[bins + 1]` of bins of equal width, in the dtype of `values` `[n]`."""
    if range is not None:
        low, high = (torch.full((), edge, dtype=values.dtype) for edge in range)
    elif values.shape[0] == 0:
        low, high = torch.zeros((), dtype=values.dtype), torch.ones((), dtype=values.dtype)
    else:
        low, high = values.amin(), values.amax()
    same = torch.eq(low, high)
    low, high = torch.where(same, low - 0.5, low), torch.where(same, high + 0.5, high)
    # Compute the edges from both ends, as `torch.linspace` does.
    place = torch.arange(bins + 1)
    step = (high - low) / bins
    from_front, from_back = low + step * place, high - step * (bins - place)
    return torch.where(place < (bins + 1) // 2, from_front, from_back)


def _hits(values: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
    """Returns whether each value is in each bin, bool (values, bins)."""
    values = values.unsqueeze(1)
    below = torch.lt(values, edges[1:])
    is_last = torch.eq(torch.arange(edges.shape[0] - 1), edges.shape[0] - 2)
    below = torch.logical_or(below, torch.logical_and(is_last, torch.eq(values, edges[1:])))
    return torch.logical_and(torch.ge(values, edges[:-1]), below)
