"""Pastes masks of boxes into masks of images."""

from __future__ import annotations

import torch
from torch.nn import functional


def paste_masks(
    masks: torch.Tensor, boxes: torch.Tensor, image_size: tuple[int, int], padding: int = 1
) -> torch.Tensor:
    """Replaces torchvision's `paste_masks_in_image`, whose intermediate results have box sizes.

    Args:
        masks: probabilities over each box, f32 `[k, 1, m, m]`.
        boxes: f32 `[k, 4]`.

    Returns:
        f32 `[k, 1, *image_size]`, zero outside the boxes.
    """
    side = masks.shape[-1]
    padded = functional.pad(masks, (padding,) * 4)[:, 0]
    grow = (side + 2 * padding) / side
    centers = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    halves = (boxes[:, 2:] - boxes[:, :2]) * 0.5 * grow
    starts, ends = ((centers + sign * halves).to(torch.int64) for sign in (-1, 1))
    rows, columns = (
        _resampling(starts[:, axis], ends[:, axis], padded.shape[-1], image_size[1 - axis])
        for axis in (1, 0)
    )
    return (rows @ padded @ columns.transpose(1, 2)).unsqueeze(1)


def _resampling(
    start: torch.Tensor, end: torch.Tensor, mask_size: int, image_size: int
) -> torch.Tensor:
    """Returns the matrix that resamples masks to the image along one axis.

    It interpolates the mask linearly to the length of the box, at the position of the box.

    Returns:
        f32 `[k, image_size, mask_size]`.
    """
    length = (end - start + 1).clamp(min=1)[:, None]
    inside = torch.arange(image_size)[None, :] - start[:, None]
    place = ((inside + 0.5) * (mask_size / length) - 0.5).clamp(min=0)
    low = place.to(torch.int64).clamp(max=mask_size - 1)
    high = (low + 1).clamp(max=mask_size - 1)
    after = (place - low)[:, :, None]
    pixel = torch.arange(mask_size)
    weights = (low[:, :, None] == pixel) * (1 - after) + (high[:, :, None] == pixel) * after
    counts = (inside >= 0) & (inside < length)
    return torch.where(counts[:, :, None], weights, 0.0)
