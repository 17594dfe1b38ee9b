"""Lowerings of operators for object detection."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from importers.loops import while_loop
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor


@operator("NonMaxSuppression")
def non_max_suppression(node: Node, boxes: Tensor, scores: Tensor, *_limits: Tensor) -> Tensor:
    """Lowers `NonMaxSuppression`: returns rows of (batch, class, box), best first in each class."""
    most = int(node.number(2, 0))
    threshold, lowest = float(node.number(3, 0.0)), node.number(4)
    batch, classes, count = scores.shape
    most = min(most, count)
    if most <= 0:
        return torch.zeros((0, 3), dtype=torch.int64)
    corners = _corners(boxes, bool(node.get("center_point_box", 0)))
    corners = corners.unsqueeze(1).expand(batch, classes, count, 4).reshape(-1, count, 4)
    given = scores.reshape(-1, count).to(torch.float32)
    present = torch.ones_like(given, dtype=torch.bool) if lowest is None else given > lowest
    kept = _kept(corners, given, present, threshold, most)
    problem = torch.arange(batch * classes).unsqueeze(1).expand(-1, most)
    columns = (problem // classes, problem % classes, kept)
    table = torch.stack([column.reshape(-1) for column in columns], 1)
    return table.index_select(0, torch.nonzero(kept.reshape(-1) >= 0).reshape(-1))


def _corners(boxes: Tensor, centered: bool) -> Tensor:
    """Converts boxes to (y1, x1, y2, x2) with the lower corner first."""
    a, b, c, d = boxes.unbind(-1)
    if centered:
        x1, y1, x2, y2 = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    else:
        y1, x1, y2, x2 = a, b, c, d
    return torch.stack(
        [
            torch.minimum(y1, y2),
            torch.minimum(x1, x2),
            torch.maximum(y1, y2),
            torch.maximum(x1, x2),
        ],
        -1,
    )


def _kept(corners: Tensor, scores: Tensor, present: Tensor, threshold: float, most: int) -> Tensor:
    """Returns the indices of kept boxes, best first, (problems, most); padded with -1."""
    count = scores.shape[1]

    def more(carried: Sequence[Tensor], _outside: Sequence[Tensor]) -> Tensor:
        return (carried[0] < most).reshape(())

    def keep_best(carried: Sequence[Tensor], outside: Sequence[Tensor]) -> list[Tensor]:
        (step, present, found), (corners, scores) = carried, outside
        place, slot = torch.arange(count).unsqueeze(0), torch.arange(most).unsqueeze(0)
        rest = torch.where(present, scores, float("-inf"))
        best = rest.argmax(1, keepdim=True)
        is_left = present.to(torch.int64).amax(1, keepdim=True) > 0
        box = corners.gather(1, best.unsqueeze(-1).expand(-1, 1, 4))
        low = torch.maximum(box[..., :2], corners[..., :2])
        high = torch.minimum(box[..., 2:], corners[..., 2:])
        shared = (high - low).clamp(min=0).prod(-1)
        sides = corners[..., 2:] - corners[..., :2]
        own = (box[..., 2:] - box[..., :2]).prod(-1)
        overlap = shared / (sides.prod(-1) + own - shared)
        dropped = (overlap > threshold) | (place == best)
        found = torch.where((slot == step) & is_left, best, found)
        return [step + 1, present & ~dropped, found]

    start = (
        torch.zeros((1,), dtype=torch.int64),
        present,
        torch.full((scores.shape[0], most), -1, dtype=torch.int64),
    )
    return while_loop(more, keep_best, start, (corners.contiguous(), scores))[2]
