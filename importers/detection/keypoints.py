"""Pastes masks of boxes into images, and finds the keypoints of boxes in heat maps."""

from __future__ import annotations

import torch
from torch._higher_order_ops.while_loop import while_loop
from torch.nn import functional

# The coefficient of PyTorch's bicubic interpolation.
_A = -0.75


def find_keypoints(
    sizes: list[tuple[int, int]], heatmaps: torch.Tensor, boxes: list[torch.Tensor]
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Replaces torchvision's `keypointrcnn_inference`, which resizes each map to its box's size.

    Args:
        sizes: the sizes of the images; no box is larger.
        heatmaps: f32 `[all boxes, keypoints, m, m]`.
        boxes: for each image, f32 `[k, 4]`.

    Returns:
        For each image, its keypoints as rows of (x, y, 1), f32 `[k, keypoints, 3]`, and their
        scores, f32 `[k, keypoints]`.
    """
    points, scores = [], []
    counts = [found.shape[0] for found in boxes]
    for maps, found, size in zip(heatmaps.split(counts), boxes, sizes, strict=True):
        image_points, image_scores = _peaks(maps, found, size)
        points.append(image_points)
        scores.append(image_scores)
    return points, scores


def _peaks(
    maps: torch.Tensor, boxes: torch.Tensor, size: tuple[int, int]
) -> tuple[torch.Tensor, torch.Tensor]:
    count, keypoints, side = maps.shape[:3]
    height, width = size
    lengths = (boxes[:, 2:] - boxes[:, :2]).clamp(min=1)
    pixels = lengths.ceil()
    maps = maps.contiguous()
    slot = torch.arange(count)[:, None]

    def more(step, _place, _score):
        return step < count

    # Process the boxes in a loop: all resized maps at once would take gigabytes.
    def locate(step, place, score):
        at = step.reshape(1)
        wide, high = pixels.index_select(0, at)[0].unbind(0)
        rows, columns = _bicubic(high, height, side), _bicubic(wide, width, side)
        resized = rows @ maps.index_select(0, at)[0] @ columns.t()
        inside = (torch.arange(height) < high)[:, None] & (torch.arange(width) < wide)
        values, index = torch.where(inside, resized, float("-inf")).flatten(1).max(1)
        now = slot == step
        return step + 1, torch.where(now, index, place), torch.where(now, values, score)

    state = (
        torch.zeros((), dtype=torch.int64),
        torch.zeros((count, keypoints), dtype=torch.int64),
        torch.zeros((count, keypoints)),
    )
    _, place, score = while_loop(more, locate, state)
    down = torch.div(place, width, rounding_mode="floor")
    pixel = torch.stack([place - down * width, down], -1).to(maps.dtype)
    correction = lengths / pixels
    points = (pixel + 0.5) * correction[:, None] + boxes[:, None, :2]
    return torch.cat([points, torch.ones_like(points[..., :1])], -1), score


def _bicubic(length: torch.Tensor, longest: int, side: int) -> torch.Tensor:
    """Returns the matrix that resizes `side` values to `length` by bicubic interpolation.

    Returns:
        f32 `[longest, side]`; rows from `length` on are meaningless.
    """
    place = (torch.arange(longest) + 0.5) * (side / length) - 0.5
    first = torch.floor(place)
    t = place - first
    weights = (
        _outer(t + 1),
        _inner(t),
        _inner(1 - t),
        _outer(2 - t),
    )
    pixel = torch.arange(side)
    total = torch.zeros((longest, side))
    for offset, weight in enumerate(weights, -1):
        taken = (first.to(torch.int64) + offset).clamp(0, side - 1)
        total = total + (taken[:, None] == pixel) * weight[:, None]
    return total


def _inner(x: torch.Tensor) -> torch.Tensor:
    """Evaluates the cubic kernel for distances up to 1."""
    return ((_A + 2) * x - (_A + 3)) * x * x + 1


def _outer(x: torch.Tensor) -> torch.Tensor:
    """Evaluates the cubic kernel for distances from 1 to 2."""
    return ((_A * x - 5 * _A) * x + 8 * _A) * x - 4 * _A


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
