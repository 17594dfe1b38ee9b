"""Lowerings of operators that resize images or sample them at computed positions."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import _disable_current_modes

from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
# If more slices are needed, a matrix product replaces the sum.
_MOST_TAPS = 8


@dataclass(frozen=True)
class _Axis:
    """The resizing of one axis.

    Attributes:
        axis: the index of the axis.
        size, result: the number of elements before and after.
        scale: the scale that the model gives, before `result` is rounded.
        roi: the start and end for `tf_crop_and_resize`, else None.
    """

    axis: int
    size: Any
    result: Any
    scale: Any
    roi: tuple[float, float] | None

    @property
    def is_same(self) -> bool:
        """True if resizing does not change the axis."""
        static = isinstance(self.size, int) and isinstance(self.result, int)
        same = static and self.size == self.result and math.isclose(self.scale, 1.0)
        return same and (self.roi is None or self.roi == (0.0, 1.0))


@operator("Resize")
def resize(node: Node, x: Tensor, *_options: Tensor | None) -> Tensor:
    """Lowers `Resize`, by scales or to sizes, in all modes."""
    if node.opset < 11:
        return _resized(node, x, _of_scales(node, x, node.numbers(1), None), "asymmetric")
    how = node.get("coordinate_transformation_mode", "half_pixel")
    roi = node.numbers(1) if how == "tf_crop_and_resize" else None
    if node.has(2) and (node.values[2].is_sizes or node.values[2].data.numel()):
        axes = _of_scales(node, x, node.numbers(2), roi)
    else:
        axes = _of_sizes(node, x, node.integers(3), roi)
    return _resized(node, x, axes, how)


@operator("Upsample")
def upsample(node: Node, x: Tensor, _scales: Tensor | None = None) -> Tensor:
    """Lowers `Upsample`, the predecessor of `Resize`."""
    scales = node.numbers(1) if node.has(1) else node.get("scales")
    return _resized(node, x, _of_scales(node, x, scales, None), "asymmetric")


def _axes(node: Node, x: Tensor) -> list[int]:
    return [axis % x.dim() for axis in node.get("axes") or range(x.dim())]


def _region(roi: list[float] | None, index: int, count: int) -> tuple[float, float] | None:
    return None if roi is None else (roi[index], roi[index + count])


def _of_scales(node: Node, x: Tensor, scales: list[float], roi: list[float] | None) -> list[_Axis]:
    found = []
    axes = _axes(node, x)
    for index, (axis, scale) in enumerate(zip(axes, scales, strict=True)):
        size = x.shape[axis]
        if isinstance(size, int):
            result = math.floor(size * scale)
        elif scale == int(scale):
            result = size * int(scale)
        elif scale == 1 / round(1 / scale):
            result = size // round(1 / scale)
        else:
            raise node.refuse(f"of a dynamic dimension by {scale:g}")
        found.append(_Axis(axis, size, result, scale, _region(roi, index, len(axes))))
    return found


def _of_sizes(node: Node, x: Tensor, sizes: list[Any], roi: list[float] | None) -> list[_Axis]:
    axes = _axes(node, x)
    scales = [size / x.shape[axis] for axis, size in zip(axes, sizes, strict=True)]
    policy = node.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scale = min(scales) if policy == "not_larger" else max(scales)
        scales = [scale] * len(axes)
        sizes = [int(scale * x.shape[axis] + 0.5) for axis in axes]
    return [
        _Axis(axis, x.shape[axis], sizes[i], scales[i], _region(roi, i, len(axes)))
        for i, axis in enumerate(axes)
    ]


def _resized(node: Node, x: Tensor, axes: list[_Axis], how: str) -> Tensor:
    mode = node.get("mode", "nearest")
    moved = [axis for axis in axes if not axis.is_same]
    if mode != "nearest" and x.dtype not in (torch.float32, torch.float64):
        return _narrowed(_interpolated(node, x.to(torch.float32), moved, mode, how), x.dtype)
    return _interpolated(node, x, moved, mode, how)


def _narrowed(x: Tensor, dtype: torch.dtype) -> Tensor:
    if dtype.is_floating_point:
        return x.to(dtype)
    limits = torch.iinfo(dtype)
    return x.clamp(limits.min, limits.max).to(dtype)


def _interpolated(node: Node, x: Tensor, axes: list[_Axis], mode: str, how: str) -> Tensor:
    outside = node.get("extrapolation_value", 0.0)
    for axis in axes:
        static = isinstance(axis.size, int) and isinstance(axis.result, int)
        # If the sizes are static, the weights are constants of the program.
        with _disable_current_modes() if static else contextlib.nullcontext():
            places, weights, is_outside = _taps(node, axis, mode, how)
            weights = None if weights is None else [w.to(x.dtype) for w in weights]
        x = _combined(x, axis, places, weights)
        if is_outside is not None:
            x = torch.where(_along(is_outside, axis.axis, x.dim()), outside, x).to(x.dtype)
    return x


def _along(x: Tensor, axis: int, rank: int) -> Tensor:
    return x.reshape([-1 if i == axis else 1 for i in range(rank)])


def _combined(x: Tensor, axis: _Axis, places: list[Tensor], weights: list[Tensor] | None) -> Tensor:
    if weights is None:
        return x.index_select(axis.axis, places[0])
    if len(places) > _MOST_TAPS:
        rows = torch.arange(axis.size).unsqueeze(1)
        matrix = sum(
            torch.where(rows == place, weight, 0)
            for place, weight in zip(places, weights, strict=True)
        )
        return torch.matmul(x.movedim(axis.axis, -1), matrix).movedim(-1, axis.axis)
    parts = [
        x.index_select(axis.axis, place) * _along(weight, axis.axis, x.dim())
        for place, weight in zip(places, weights, strict=True)
    ]
    return sum(parts[1:], parts[0])


def _taps(
    node: Node, axis: _Axis, mode: str, how: str
) -> tuple[list[Tensor], list[Tensor] | None, Tensor | None]:
    """Computes which input elements each result element reads, and their weights.

    Returns:
        Indices and weights, each a list of tensors of (result); and a mask of the result elements
        outside of the input, or None. Weights of None are 1.
    """
    place = _coordinates(node, axis, how)
    is_outside = None
    if how == "tf_crop_and_resize":
        is_outside = (place < 0) | (place > axis.size - 1)
    # The left neighbor. At an exact element, this is the previous one, and the ratio is 1.
    left = torch.ceil(place) - 1
    ratio = place - left
    start = left.to(torch.int64)
    if mode == "nearest":
        return [_nearest(node, start, ratio, axis.size)], None, is_outside
    offsets, weights = _weights(node, mode, ratio, axis)
    places = [start + offset for offset in offsets]
    if node.get("exclude_outside", 0):
        weights = [
            torch.where((at < 0) | (at >= axis.size), torch.zeros_like(w), w)
            for at, w in zip(places, weights, strict=True)
        ]
        total = sum(weights)
        weights = [weight / total for weight in weights]
    return [at.clamp(0, axis.size - 1) for at in places], weights, is_outside


def _coordinates(node: Node, axis: _Axis, how: str) -> Tensor:
    """Returns the input coordinate of each element of the result."""
    x = torch.arange(axis.result, dtype=torch.float64)
    size, scale = axis.size, axis.scale
    # If scales are given, the width may be fractional.
    width = scale * size if isinstance(axis.size, int) else axis.result
    if how == "align_corners":
        return x * 0 if width == 1 else x * (size - 1) / (width - 1)
    if how == "asymmetric":
        return x / scale
    if how == "tf_crop_and_resize":
        start, end = axis.roi
        if width == 1:
            return x * 0 + (end - start) * (size - 1) / 2 + start * (size - 1)
        return x * (end - start) * (size - 1) / (width - 1) + start * (size - 1)
    if how == "pytorch_half_pixel":
        return x * 0 - 0.5 if width == 1 else (x + 0.5) / scale - 0.5
    if how == "half_pixel":
        return (x + 0.5) / scale - 0.5
    if how == "half_pixel_symmetric":
        offset = size / 2 * (1 - axis.result / width)
        return offset + (x + 0.5) / scale - 0.5
    raise node.refuse(f"with {how} coordinates")


def _nearest(node: Node, start: Tensor, ratio: Tensor, size: Any) -> Tensor:
    rule = node.get("nearest_mode", "round_prefer_floor")
    if node.opset < 11 or node.proto.op_type == "Upsample":
        rule = "floor"
    if rule == "round_prefer_floor":
        right = ratio > 0.5
    elif rule == "round_prefer_ceil":
        right = ratio >= 0.5
    else:
        right = (ratio == 1) if rule == "floor" else torch.ones_like(ratio, dtype=torch.bool)
    return (start + right.to(torch.int64)).clamp(0, size - 1)


def _weights(node: Node, mode: str, ratio: Tensor, axis: _Axis) -> tuple[range, list[Tensor]]:
    """Returns the offsets of the elements to read, and their weights."""
    scale = min(axis.scale, 1.0) if node.get("antialias", 0) else 1.0
    reach = 1 if mode == "linear" else 2
    first = math.floor(-reach / scale) + 1
    offsets = range(first, 2 - first)
    a = node.get("cubic_coeff_a", -0.75)
    weights = []
    for offset in offsets:
        distance = ((offset - ratio) * scale).abs()
        weights.append((1 - distance).clamp(0, 1) if mode == "linear" else _cubic(distance, a))
    if scale == 1:
        return offsets, weights
    total = sum(weights)
    return offsets, [weight / total for weight in weights]


def _cubic(x: Tensor, a: float) -> Tensor:
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


# The names in opset 16, which PyTorch also uses.
_MODES = {"linear": "bilinear", "cubic": "bicubic"}


@operator("GridSample")
def grid_sample(node: Node, x: Tensor, grid: Tensor) -> Tensor:
    """Lowers `GridSample`, for images and volumes."""
    mode = node.get("mode", "linear" if node.opset >= 20 else "bilinear")
    mode = _MODES.get(mode, mode)
    if x.dim() == 5 and mode == "bicubic":
        raise node.refuse("of volumes with cubic interpolation")
    return F.grid_sample(
        x,
        grid,
        mode=mode,
        padding_mode=node.get("padding_mode", "zeros"),
        align_corners=bool(node.get("align_corners", 0)),
    )


@operator("AffineGrid")
def affine_grid(node: Node, theta: Tensor, _size: Tensor) -> Tensor:
    """Lowers `AffineGrid`: the sampling grid of an affine map, for images or volumes."""
    return F.affine_grid(theta, node.integers(1), bool(node.get("align_corners", 0)))


@operator("RoiAlign")
def roi_align(node: Node, x: Tensor, rois: Tensor, batch: Tensor) -> Tensor:
    """Lowers `RoiAlign` in mode `avg` with torchvision's `roi_align`."""
    from torchvision.ops import roi_align as aligned

    if node.get("mode", "avg") != "avg":
        raise node.refuse("with mode max")
    default = "half_pixel" if node.opset >= 16 else "output_half_pixel"
    how = node.get("coordinate_transformation_mode", default)
    boxes = torch.cat([batch.to(rois.dtype).unsqueeze(1), rois], 1)
    return aligned(
        x,
        boxes,
        (node.get("output_height", 1), node.get("output_width", 1)),
        node.get("spatial_scale", 1.0),
        node.get("sampling_ratio", 0),
        how == "half_pixel",
    )
