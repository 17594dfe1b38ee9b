"""Grid sampling of an image at coordinates that may be NaN or infinite."""

from __future__ import annotations

import torch
from torch._decomp import decomposition_table

_BILINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER = 0, 1


def grid_sampler_2d(
    image: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int = _BILINEAR,
    padding_mode: int = _ZEROS,
    align_corners: bool = False,
) -> torch.Tensor:
    """Samples `image` (N, C, H, W) at `grid` (N, h, w, 2), by PyTorch's own decomposition.

    PyTorch's decomposition masks coordinates outside the image, including NaN. Eager's kernels
    return NaN for them if they interpolate with zeros around the image. With other padding, they
    use the first element along the axis.
    """
    sample = decomposition_table[torch.ops.aten.grid_sampler_2d.default]
    options = interpolation_mode, padding_mode, align_corners
    if interpolation_mode not in (_BILINEAR, _NEAREST):
        return sample(image, grid, *options)
    finite = torch.lt(grid.abs(), torch.inf)
    if padding_mode != _ZEROS:
        # The reflection of infinity is NaN.
        is_place = torch.eq(grid, grid) if padding_mode == _BORDER else finite
        return sample(image, torch.where(is_place, grid, -1.0), *options)
    result = sample(image, grid, *options)
    if interpolation_mode == _NEAREST:
        return result
    return torch.where(finite.all(-1).unsqueeze(1), result, torch.nan)
