"""Box selection of models that propose regions first: Faster, Mask and Keypoint R-CNN."""

from __future__ import annotations

import math
from typing import Any

import torch
from torchvision.ops import boxes as box_ops
from torchvision.ops.poolers import initLevelMapper

from importers.detection.roi_align import multiscale_roi_align
from importers.detection.selection import top
from importers.detection.suppression import ABSENT, is_large, pick, suppress

# torchvision drops detections with a side length below this.
_SMALLEST = 1e-2


def propose(
    rpn: Any,
    proposals: torch.Tensor,
    objectness: torch.Tensor,
    image_sizes: list[tuple[int, int]],
    anchors_per_level: list[int],
) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Replaces `filter_proposals` of the region proposal network.

    Args:
        proposals: f32 `[n, anchors, 4]`.
        objectness: f32, `n`·anchors logits.
        anchors_per_level: number of anchors of each level of the pyramid.

    Returns:
        For each image, boxes f32 `[rpn.post_nms_top_n(), 4]` (fewer if there are fewer anchors)
        and scores. An absent box is empty, and so are all detections from it.
    """
    objectness = objectness.reshape(proposals.shape[0], -1)
    boxes_of_images, scores_of_images = [], []
    for image, size in enumerate(image_sizes):
        logits = objectness[image].split(anchors_per_level)
        boxes = proposals[image].split(anchors_per_level)
        parts = []
        for level, (level_logits, level_boxes) in enumerate(zip(logits, boxes, strict=True)):
            best, index = top(level_logits, min(rpn.pre_nms_top_n(), level_logits.shape[0]))
            parts.append((level_boxes.index_select(0, index), best, torch.full_like(index, level)))
        candidates, best, levels = (torch.cat(part) for part in zip(*parts, strict=True))
        candidates = box_ops.clip_boxes_to_image(candidates, size)
        scores = torch.sigmoid(best)
        present = is_large(candidates, rpn.min_size) & (scores >= rpn.score_thresh)
        scores = torch.where(present, scores, ABSENT)
        count = min(rpn.post_nms_top_n(), candidates.shape[0])
        kept, kept_scores = suppress(candidates, scores, levels, rpn.nms_thresh, count)
        boxes_of_images.append(pick(candidates, kept, kept_scores))
        scores_of_images.append(kept_scores)
    return boxes_of_images, scores_of_images


def pool(
    pooler: Any,
    features: dict[str, torch.Tensor],
    boxes: list[torch.Tensor],
    image_sizes: list[tuple[int, int]],
) -> torch.Tensor:
    """Replaces `MultiScaleRoIAlign.forward`; returns f32 `[k, c, *pooler.output_size]`."""
    chosen = [value for name, value in features.items() if name in pooler.featmap_names]
    tallest = max(size[0] for size in image_sizes)
    scales = [2.0 ** round(math.log2(value.shape[-2] / tallest)) for value in chosen]
    image = [torch.full_like(found[:, :1], float(index)) for index, found in enumerate(boxes)]
    rois = torch.cat([torch.cat(image), torch.cat(boxes)], 1)
    if len(chosen) == 1:
        levels = torch.zeros(rois.shape[0], dtype=torch.int64)
    else:
        first, last = (int(-math.log2(scale)) for scale in (scales[0], scales[-1]))
        levels = initLevelMapper(first, last, pooler.canonical_scale, pooler.canonical_level)(boxes)
    size = tuple(pooler.output_size)
    return multiscale_roi_align(chosen, rois, levels, scales, size, pooler.sampling_ratio)


def classify(
    heads: Any,
    sizes: list[tuple[int, int]],
    logits: torch.Tensor,
    deltas: torch.Tensor,
    proposals: list[torch.Tensor],
    image_sizes: list[tuple[int, int]],
) -> tuple[list[torch.Tensor], list[torch.Tensor], list[torch.Tensor]]:
    """Replaces `postprocess_detections` of the heads.

    Args:
        sizes: receives `image_sizes`, for the following steps.
        logits: f32 `[boxes, classes]`.
        deltas: f32 `[boxes, 4·classes]`.
        proposals: for each image, f32 `[boxes, 4]`.

    Returns:
        For each image, `heads.detections_per_img` boxes, scores and labels.
    """
    sizes[:] = image_sizes
    counts = [found.shape[0] for found in proposals]
    decoded = heads.box_coder.decode(deltas, proposals).split(counts)
    probabilities = torch.softmax(logits, -1).split(counts)
    results = []
    for boxes, scores, size in zip(decoded, probabilities, image_sizes, strict=True):
        # The first class is the background.
        boxes = box_ops.clip_boxes_to_image(boxes, size)[:, 1:]
        scores = scores[:, 1:]
        present = (scores > heads.score_thresh) & is_large(boxes, _SMALLEST)
        scores = torch.where(present, scores, ABSENT).flatten()
        labels = torch.arange(1, boxes.shape[1] + 1).expand(boxes.shape[:2]).flatten()
        boxes = boxes.reshape(-1, 4)
        count = min(heads.detections_per_img, boxes.shape[0])
        kept, kept_scores = suppress(boxes, scores, labels, heads.nms_thresh, count)
        parts = (pick(boxes, kept, kept_scores), kept_scores, pick(labels, kept, kept_scores))
        results.append(parts)
    boxes, scores, labels = (list(part) for part in zip(*results, strict=True))
    return boxes, scores, labels
