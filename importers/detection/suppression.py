"""Non-maximum suppression with a fixed number of results."""

from __future__ import annotations

import torch
from torch._higher_order_ops.while_loop import while_loop

# The score of absent boxes: dropped candidates, and results after the last kept box.
ABSENT = -1.0
# Up to this many elements, torchvision's batched_nms shifts the boxes of each label apart. Above,
# it processes one label at a time. The overlaps of the two methods differ in their last digits.
_MOVED_APART = 4000


def suppress(
    boxes: torch.Tensor,
    scores: torch.Tensor,
    labels: torch.Tensor,
    threshold: float,
    count: int,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the first `count` boxes that `torchvision.ops.batched_nms` keeps, by score.

    Args:
        boxes: f32 `[n, 4]`, nonnegative corners.
        scores: f32 `[n]`, nonnegative, or `ABSENT` for a box to ignore.
        labels: i64 `[n]`; only boxes of the same label suppress each other.
        threshold: the threshold of the intersection over the union.

    Returns:
        Indices i64 and scores f32 in descending order, both `[count]`; the score is `ABSENT` for
        missing boxes.
    """
    present = scores > ABSENT
    largest = torch.where(present[:, None], boxes, 0.0).amax()
    few = present.to(torch.int64).sum() * 4 <= _MOVED_APART
    shift = labels.to(boxes.dtype) * torch.where(few, largest + 1, 0.0)
    corners = (boxes + shift[:, None]).t().contiguous()
    labels = labels + 0
    place, slot = torch.arange(boxes.shape[0]), torch.arange(count)

    def more(step, _scores, _kept, _kept_scores):
        return step < count

    def keep_best(step, scores, kept, kept_scores):
        score, best = scores.max(0, keepdim=True)
        x1, y1, x2, y2 = corners.unbind(0)
        a1, b1, a2, b2 = corners.index_select(1, best).unbind(0)
        width = (torch.minimum(a2, x2) - torch.maximum(a1, x1)).clamp(min=0)
        height = (torch.minimum(b2, y2) - torch.maximum(b1, y1)).clamp(min=0)
        shared = width * height
        overlap = shared / ((a2 - a1) * (b2 - b1) + (x2 - x1) * (y2 - y1) - shared)
        dropped = (overlap > threshold) & (labels == labels.index_select(0, best))
        remaining = torch.where(dropped | (place == best), ABSENT, scores)
        now = slot == step
        return (
            step + 1,
            remaining,
            torch.where(now, best, kept),
            torch.where(now, score, kept_scores),
        )

    state = (
        torch.zeros((), dtype=torch.int64),
        scores + 0,
        torch.zeros(count, dtype=torch.int64),
        torch.full((count,), ABSENT),
    )
    return while_loop(more, keep_best, state)[2:]


def pick(
    values: torch.Tensor, indices: torch.Tensor, scores: torch.Tensor
) -> torch.Tensor:  # fmt: skip
    """Returns `values[indices]`, with zeros where `scores` is `ABSENT`."""
    present = (scores > ABSENT).reshape(-1, *[1] * (values.dim() - 1))
    chosen = values.index_select(0, indices)
    return torch.where(present, chosen, torch.zeros((), dtype=values.dtype))


def is_large(boxes: torch.Tensor, least: float) -> torch.Tensor:
    """Returns bool `[...]`: True for boxes `[..., 4]` with both sides at least `least` long."""
    sides = boxes[..., 2:] - boxes[..., :2]
    return (sides >= least).all(-1)
