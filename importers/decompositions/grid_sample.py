"""Grid sampling of images and volumes at any coordinates."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch.utils._python_dispatch import TorchDispatchMode

# The modes of interpolation, linear along each axis or of the nearest element, and of padding.
_LINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER = 0, 1


def grid_sampler_2d(
    image: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int = _LINEAR,
    padding_mode: int = _ZEROS,
    align_corners: bool = False,
) -> torch.Tensor:
    """Samples `image` (N, C, H, W) at `grid` (N, h, w, 2), by PyTorch's own decomposition.

    PyTorch's decomposition masks coordinates outside the image, including NaN. Eager's kernels
    return NaN for them if they interpolate with zeros around the image. With other padding, they
    use the first element along the axis.
    """
    options = interpolation_mode, padding_mode, align_corners
    if interpolation_mode not in (_LINEAR, _NEAREST):
        return _sampled(image, grid, *options)
    finite = torch.lt(grid.abs(), torch.inf)
    if padding_mode != _ZEROS:
        # The reflection of infinity is NaN.
        is_place = torch.eq(grid, grid) if padding_mode == _BORDER else finite
        return _sampled(image, torch.where(is_place, grid, -1.0), *options)
    result = _sampled(image, grid, *options)
    if interpolation_mode == _NEAREST:
        return result
    return torch.where(finite.all(-1).unsqueeze(1), result, torch.nan)


def _sampled(*args: Any) -> torch.Tensor:
    """Computes PyTorch's decomposition. Its indices are limited to the sizes of the image."""
    with _LimitedIndices():
        return decomposition_table[torch.ops.aten.grid_sampler_2d.default](*args)


class _LimitedIndices(TorchDispatchMode):
    """Clamps indices that are tensors of int64 to the sizes of the indexed axes.

    PyTorch's decomposition replaces coordinates outside of the image by 0 before it rounds them.
    The range analysis only proves that integers are in range. Without the proof, each index is
    checked, which takes longer than the rest.
    """

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        if func is torch.ops.aten.index.Tensor:
            image, places = args
            places = [
                place.clamp(0, size - 1) for place, size in zip(places, image.shape, strict=True)
            ]
            args = image, places
        return func(*args, **(kwargs or {}))


def grid_sampler_3d(
    volume: torch.Tensor,
    grid: torch.Tensor,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> torch.Tensor:
    """Samples `volume` (N, C, D, H, W) at `grid` (N, d, h, w, 3) of coordinates x, y and z.

    A NaN coordinate is outside. With border or reflection padding, it is the last one along its
    axis.
    """
    count, channels = volume.shape[:2]
    sizes = volume.shape[2:]
    # Follow the order of the axes of the volume: z, y, x.
    places = [
        _place(grid[..., 2 - axis], size, padding_mode, align_corners)
        for axis, size in enumerate(sizes)
    ]
    flat = volume.reshape(count, channels, -1)
    if interpolation_mode == _NEAREST:
        return _at(flat, [torch.round(place) for place in places], sizes)
    result = None
    lower = [torch.floor(place) for place in places]
    for corner in itertools.product((0, 1), repeat=3):
        ends = [low + step for low, step in zip(lower, corner, strict=True)]
        shares = [
            place - low if step else low + 1 - place
            for place, low, step in zip(places, lower, corner, strict=True)
        ]
        share = functools.reduce(torch.mul, shares)
        part = _at(flat, ends, sizes) * share.unsqueeze(1)
        inside = _inside(ends, sizes).unsqueeze(1)
        part = torch.where(inside, part, 0.0)
        result = part if result is None else result + part
    return result


def _place(x: torch.Tensor, size: int, padding_mode: int, align_corners: bool) -> torch.Tensor:
    """Returns the index along an axis, not rounded."""
    x = (x + 1) / 2 * (size - 1) if align_corners else ((x + 1) * size - 1) / 2
    if padding_mode == _ZEROS:
        return x
    if padding_mode != _BORDER:
        low, span = (0.0, size - 1.0) if align_corners else (-0.5, float(size))
        x = _reflected(x, low, span)
    return torch.where(torch.eq(x, x), x, size - 1.0).clamp(0, size - 1)


def _reflected(x: torch.Tensor, low: float, span: float) -> torch.Tensor:
    if span == 0:
        return torch.zeros_like(x)
    x = (x - low).abs()
    rest = torch.fmod(x, span)
    turns = torch.floor(x / span)
    even = torch.eq(torch.floor(turns / 2) * 2, turns)
    return torch.where(even, rest, span - rest) + low


def _inside(places: list[torch.Tensor], sizes: torch.Size) -> torch.Tensor:
    return functools.reduce(
        torch.logical_and,
        [
            torch.logical_and(place >= 0, place < size)
            for place, size in zip(places, sizes, strict=True)
        ],
    )


def _at(flat: torch.Tensor, places: list[torch.Tensor], sizes: torch.Size) -> torch.Tensor:
    """Returns elements (N, C, d, h, w) of `flat` (N, C, D·H·W) at whole indices; 0 outside."""
    inside = _inside(places, sizes)
    index = torch.zeros_like(places[0], dtype=torch.int64)
    for place, size in zip(places, sizes, strict=True):
        index = index * size + torch.where(inside, place, 0.0).to(torch.int64)
    wanted = index.reshape(index.shape[0], 1, -1).expand(-1, flat.shape[1], -1)
    found = flat.gather(2, wanted).reshape(*flat.shape[:2], *index.shape[1:])
    return torch.where(inside.unsqueeze(1), found, 0.0)
