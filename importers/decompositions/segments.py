"""Reductions of segments of an axis."""

from __future__ import annotations

import math

import torch

from importers.decompositions.assertions import require

_REDUCTIONS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
_EMPTY = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


def segment_reduce(
    data: torch.Tensor,
    reduce: str,
    *,
    lengths: torch.Tensor | None = None,
    indices: torch.Tensor | None = None,
    offsets: torch.Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> torch.Tensor:
    """Returns the sum, mean, product, maximum or minimum of each segment along `axis`.

    Args:
        data: (..., size, ...), whose axes before `axis` are those of the lengths.
        lengths: the lengths of the segments, (..., segments); or
        offsets: their first indices and the end of the last one, (..., segments + 1).
        initial: the initial value of each segment.
    """
    if offsets is not None:
        starts, ends = offsets[..., :-1], offsets[..., 1:]
    else:
        ends = torch.cumsum(lengths, -1)
        starts = ends - lengths
        if not unsafe:
            require(torch.ge(lengths, 0), "segment_reduce has a negative length")
            whole = torch.eq(lengths.sum(-1), data.shape[axis])
            require(whole, "segment_reduce has lengths whose sum is not the size of the axis")
    # An additional segment receives elements that are in none.
    segments = starts.shape[-1]
    place = torch.arange(data.shape[axis], dtype=starts.dtype)
    after = torch.ge(place.unsqueeze(-1), starts.unsqueeze(-2))
    inside = torch.logical_and(after, torch.lt(place.unsqueeze(-1), ends.unsqueeze(-2)))
    number = torch.arange(segments)
    which = torch.where(inside, number, segments).amin(-1)
    rest = data.dim() - axis - 1
    index = which.reshape(*which.shape, *[1] * rest).expand(data.shape)
    # Reduce half precision in single precision.
    wide = data.to(torch.promote_types(data.dtype, torch.float32))
    begin = _EMPTY[reduce] if initial is None else initial
    shape = (*data.shape[:axis], segments + 1, *data.shape[axis + 1 :])
    total = wide.new_full(shape, begin).scatter_reduce(axis, index, wide, _REDUCTIONS[reduce])
    total = total.narrow(axis, 0, segments)
    if reduce == "mean":
        count = (ends - starts).reshape(*starts.shape, *[1] * rest).to(total.dtype)
        # The mean of no elements is NaN, or the initial value if there is one.
        mean = total / count
        total = mean if initial is None else torch.where(torch.eq(count, 0), total, mean)
    return total.to(data.dtype)
