"""Lowerings of operators that sample images at computed positions."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
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
