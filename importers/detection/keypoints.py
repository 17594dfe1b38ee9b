"""Finds the keypoints of boxes in their heat maps."""

from __future__ import annotations

import torch
from torch._higher_order_ops.while_loop import while_loop

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
