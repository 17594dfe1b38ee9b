"""Histograms as comparisons and sums, which every output dialect supports."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def histc(x: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    """Counts the elements of floating-point `x` (any shape) in each bin: `[bins]`, x's dtype.

    Elements outside [min, max] and NaN are not counted; `max` itself belongs to the last bin. If
    min = max, the range is that of the data. The cost is one comparison per element and bin.
    """
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
    index = position.to(torch.int64).clamp(max=bins - 1)
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
    flat = x.reshape(-1)
    if range is not None:
        low, high = (torch.full((), edge, dtype=x.dtype) for edge in range)
    elif flat.shape[0] == 0:
        low, high = torch.zeros((), dtype=x.dtype), torch.ones((), dtype=x.dtype)
    else:
        low, high = flat.amin(), flat.amax()
    same = torch.eq(low, high)
    low, high = torch.where(same, low - 0.5, low), torch.where(same, high + 0.5, high)
    # Compute the edges from both ends, as `torch.linspace` does.
    place = torch.arange(bins + 1)
    step = (high - low) / bins
    from_front, from_back = low + step * place, high - step * (bins - place)
    edges = torch.where(place < (bins + 1) // 2, from_front, from_back)
    return histogram_between(x, edges, weight=weight, density=density)


def histogram_between(
    x: torch.Tensor,
    edges: torch.Tensor,
    *,
    weight: torch.Tensor | None = None,
    density: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Computes `histogram` for ascending bin `edges`. The last edge belongs to the last bin."""
    values = x.reshape(-1, 1)
    below = torch.lt(values, edges[1:])
    is_last = torch.eq(torch.arange(edges.shape[0] - 1), edges.shape[0] - 2)
    below = torch.logical_or(below, torch.logical_and(is_last, torch.eq(values, edges[1:])))
    hits = torch.logical_and(torch.ge(values, edges[:-1]), below)
    weights = torch.ones_like(values) if weight is None else weight.reshape(-1, 1)
    counts = torch.where(hits, weights, 0).sum(0).to(x.dtype)
    if density:
        counts = counts / counts.sum() / (edges[1:] - edges[:-1])
    return counts, edges.clone()
