"""Box selection of models that classify anchors: RetinaNet, FCOS, SSD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torchvision.ops import boxes as box_ops

from importers.detection.selection import top
from importers.detection.suppression import ABSENT, pick, suppress

Outputs = dict[str, list[torch.Tensor]]
Detections = list[dict[str, torch.Tensor]]


def retinanet_scores(outputs: Outputs, level: int, image: int) -> torch.Tensor:
    """Returns RetinaNet's scores, f32 `[anchors, classes]`."""
    return torch.sigmoid(outputs["cls_logits"][level][image])


def fcos_scores(outputs: Outputs, level: int, image: int) -> torch.Tensor:
    """Returns FCOS's scores, f32 `[anchors, classes]`, from those of class and centerness."""
    center = torch.sigmoid(outputs["bbox_ctrness"][level][image])
    return torch.sqrt(torch.sigmoid(outputs["cls_logits"][level][image]) * center)


def detect_by_level(
    model: Any,
    level_scores: Callable[[Outputs, int, int], torch.Tensor],
    outputs: Outputs,
    anchors: list[list[torch.Tensor]],
    image_sizes: list[tuple[int, int]],
) -> Detections:
    """Replaces `postprocess_detections` of RetinaNet and FCOS.

    Args:
        level_scores: returns the scores of a level of an image from `outputs`.
        outputs: the outputs of the heads, split by level.
        anchors: for each image, split by level, f32 `[anchors, 4]`.

    Returns:
        For each image, `model.detections_per_img` boxes, scores and labels.
    """
    single = getattr(model.box_coder, "decode_single", model.box_coder.decode)
    detections = []
    for image, size in enumerate(image_sizes):
        parts = []
        for level, level_anchors in enumerate(anchors[image]):
            scores = level_scores(outputs, level, image)
            classes = scores.shape[-1]
            present = torch.where(scores > model.score_thresh, scores, ABSENT).flatten()
            count = min(model.topk_candidates, present.shape[0])
            best, index = top(present, count)
            anchor = torch.div(index, classes, rounding_mode="floor")
            deltas = outputs["bbox_regression"][level][image].index_select(0, anchor)
            boxes = single(deltas, level_anchors.index_select(0, anchor))
            parts.append((box_ops.clip_boxes_to_image(boxes, size), best, index % classes))
        boxes, scores, labels = (torch.cat(part) for part in zip(*parts, strict=True))
        detections.append(_suppressed(model, boxes, scores, labels))
    return detections


def detect_by_class(
    model: Any,
    outputs: dict[str, torch.Tensor],
    anchors: list[torch.Tensor],
    image_sizes: list[tuple[int, int]],
) -> Detections:
    """Replaces `postprocess_detections` of SSD.

    Args:
        outputs: the outputs of the head: `bbox_regression` `[n, anchors, 4]`, `cls_logits`
            `[n, anchors, classes]`.
        anchors: for each image, f32 `[anchors, 4]`.

    Returns:
        For each image, `model.detections_per_img` boxes, scores and labels.
    """
    all_scores = torch.softmax(outputs["cls_logits"], -1)
    detections = []
    for image, size in enumerate(image_sizes):
        boxes = model.box_coder.decode_single(outputs["bbox_regression"][image], anchors[image])
        boxes = box_ops.clip_boxes_to_image(boxes, size)
        # The first class is the background.
        scores = all_scores[image].t()[1:]
        present = torch.where(scores > model.score_thresh, scores, ABSENT)
        count = min(model.topk_candidates, present.shape[1])
        best, index = top(present, count)
        labels = torch.arange(1, present.shape[0] + 1)[:, None].expand(-1, count)
        candidates = boxes.index_select(0, index.flatten())
        found = _suppressed(model, candidates, best.flatten(), labels.flatten())
        detections.append(found)
    return detections


def _suppressed(
    model: Any, boxes: torch.Tensor, scores: torch.Tensor, labels: torch.Tensor
) -> dict[str, torch.Tensor]:
    count = min(model.detections_per_img, boxes.shape[0])
    kept, kept_scores = suppress(boxes, scores, labels, model.nms_thresh, count)
    return {
        "boxes": pick(boxes, kept, kept_scores),
        "scores": kept_scores,
        "labels": pick(labels, kept, kept_scores),
    }
