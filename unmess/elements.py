"""Finds wrong elements that are small beside the largest one of their tensor.

A tensor of mixed scale, such as boxes in pixels beside scores, may have a wrong small element whose
error is far below rounding errors of the large ones. Cancellation makes errors of the same size
relative to an element, without any fault. An element is therefore wrong only if three bounds on
its error are exceeded:

1. a part of eager's element,
2. a multiple of eager's own error against the float64 result, in the slices of the tensor that
   contain the element,
3. a multiple of the change of the float64 result when inputs and weights change by one rounding.
"""

from __future__ import annotations

import torch

# The elementwise relative difference above which an element is examined.
_EXAMINED = {
    torch.float64: 1e-9,
    torch.float32: 1e-2,
    torch.float16: 0.5,
    torch.bfloat16: 0.5,
}
# The smallest number of elements of a slice whose largest error counts as eager's precision. A
# single element of eager may be exact by chance.
_SLICE = 16
# Differences of subnormal numbers of float32, which some runners flush to zero.
_SMALLEST = torch.finfo(torch.float32).tiny


def largest_element_error(expected: torch.Tensor, actual: torch.Tensor) -> float:
    """Returns the largest difference relative to the element of `expected`.

    Elements that are zero, NaN or infinite in `expected` have no relative difference.
    """
    counts = torch.isfinite(expected) & (expected != 0)
    if not bool(counts.any()):
        return 0.0
    return float(((actual - expected).abs() / expected.abs())[counts].max())


def examined(expected: torch.Tensor, actual: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns a mask of the elements whose difference is large relative to the element.

    Args:
        expected, actual: eager's and the runner's result, in float64.
        dtype: the dtype of the results. For complex dtypes, the mask is empty.
    """
    if dtype not in _EXAMINED:
        return torch.zeros_like(expected, dtype=torch.bool)
    gap = (actual - expected).abs()
    smallest = 0.0 if dtype == torch.float64 else _SMALLEST
    return torch.isfinite(expected) & (gap > _EXAMINED[dtype] * expected.abs()) & (gap > smallest)


def bound_in_slices(error: torch.Tensor) -> torch.Tensor:
    """Returns, for each element, the minimum over its slices of the largest error in a slice.

    The slices of an element are those at its index of one dimension, and the whole tensor.

    Args:
        error: absolute errors; NaN and infinities count as 0.

    Returns:
        A tensor that can be broadcast to the shape of `error`.
    """
    error = torch.nan_to_num(error, nan=0.0, posinf=0.0)
    bound = error.max()
    for dim, size in enumerate(error.shape):
        others = [other for other in range(error.dim()) if other != dim]
        if others and error.numel() >= _SLICE * size:
            bound = torch.minimum(bound, error.amax(others, keepdim=True))
    return bound
