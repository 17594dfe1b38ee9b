"""Captures torchvision's detection models with results of a fixed size.

A detection model returns as many boxes as it finds. The captured one returns the maximum number:
absent boxes have the score `ABSENT` and are zero otherwise. During the capture, only the steps that
select boxes are replaced in the model's own code; everything else is unchanged.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from importers.detection.suppression import ABSENT
from unmess.core.errors.error import Error

PADDING = (
    "the IR returns the largest possible number of boxes, with a score of -1 for absent ones, "
    "which a call removes"
)


@contextlib.contextmanager
def fixed_size(model: Any) -> Iterator[Callable[[Any], Any] | None]:
    """Makes a detection model return results of fixed size, inside the `with` block.

    Yields:
        A function that removes absent boxes from such a result, or None for any other model.

    Raises:
        Error: stage `capture`, for a detection model in training mode.
    """
    # If torchvision's module is not loaded, the model is not one of its models.
    if "torchvision.models.detection" not in sys.modules or not _is_detector(model):
        yield None
        return
    if model.training:
        raise Error(
            "capture",
            "a detection model in training mode returns losses for targets, not boxes",
            hint="call eval() first",
        )
    from importers.detection.replacement import replaced_methods

    with replaced_methods(model):
        yield without_absent


def without_absent(detections: list[dict[str, torch.Tensor]]) -> list[dict[str, torch.Tensor]]:
    """Removes absent detections from those of each image."""
    return [
        {name: values[: int((found["scores"] > ABSENT).sum())] for name, values in found.items()}
        for found in detections
    ]


def _is_detector(model: Any) -> bool:
    from torchvision.models import detection

    kinds = (
        detection.generalized_rcnn.GeneralizedRCNN,
        detection.retinanet.RetinaNet,
        detection.fcos.FCOS,
        detection.ssd.SSD,
    )
    return isinstance(model, kinds)
