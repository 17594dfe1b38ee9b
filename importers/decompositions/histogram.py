"""Histograms as comparisons and sums, which every exit takes."""

from __future__ import annotations

import torch


def histc(x: torch.Tensor, bins: int = 100, min: float = 0, max: float = 0) -> torch.Tensor:
    """How many elements of floating-point `x` (any shape) fall into each bin: `[bins]`, x's dtype.

    Elements outside [min, max], and NaN, count nowhere; `max` itself belongs to the last bin. With
    min = max the range is that of the data. The cost is one comparison per element and bin.
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
