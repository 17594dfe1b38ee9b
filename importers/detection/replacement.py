"""Replaces the methods of a detection model that select boxes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import torch
from torchvision.models.detection import fcos, generalized_rcnn, retinanet, roi_heads, ssd
from torchvision.models.detection import transform as image_transform
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops.poolers import MultiScaleRoIAlign

from importers.detection import one_stage, two_stage
from importers.detection.keypoints import find_keypoints, paste_masks


@contextlib.contextmanager
def replaced_methods(model: torch.nn.Module) -> Iterator[None]:
    """Makes the selecting steps of `model` return results of fixed size, in the `with` block."""
    with contextlib.ExitStack() as stack:

        def exchange(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
            stack.enter_context(mock.patch.object(owner, name, replacement))

        for module in model.modules():
            if isinstance(module, AnchorGenerator):
                # The method would assign the anchors to the attribute that already has them.
                exchange(module, "set_cell_anchors", lambda dtype, device: None)
            elif isinstance(module, MultiScaleRoIAlign):
                exchange(module, "forward", functools.partial(two_stage.pool, module))
        exchange(image_transform, "paste_masks_in_image", paste_masks)
        if isinstance(model, generalized_rcnn.GeneralizedRCNN):
            # The keypoint step does not get the image sizes, but the step before it does.
            sizes: list[tuple[int, int]] = []
            propose = functools.partial(two_stage.propose, model.rpn)
            classify = functools.partial(two_stage.classify, model.roi_heads, sizes)
            exchange(model.rpn, "filter_proposals", propose)
            exchange(model.roi_heads, "postprocess_detections", classify)
            keypoints = functools.partial(find_keypoints, sizes)
            exchange(roi_heads, "keypointrcnn_inference", keypoints)
        elif isinstance(model, retinanet.RetinaNet):
            detect = functools.partial(one_stage.detect_by_level, model, one_stage.retinanet_scores)
            exchange(model, "postprocess_detections", detect)
        elif isinstance(model, fcos.FCOS):
            detect = functools.partial(one_stage.detect_by_level, model, one_stage.fcos_scores)
            exchange(model, "postprocess_detections", detect)
        elif isinstance(model, ssd.SSD):
            detect = functools.partial(one_stage.detect_by_class, model)
            exchange(model, "postprocess_detections", detect)
        yield
