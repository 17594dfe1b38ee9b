"""torchvision's detection models in a form whose results have a fixed size.

A detection model returns as many boxes as it finds. Here it returns as many as it can find at most:
what is missing has the score `ABSENT` and zeros otherwise. Only the steps that make a choice are
exchanged, in the model's own code, while it is captured; everything else is as torchvision has it.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch

from importers.detection.suppression import ABSENT
from unmess.core.error import Error

PADDING = (
    "as many boxes as there can be in the IR, absent ones with a score of -1; a call drops them"
)


@contextlib.contextmanager
def fixed_size(model: Any) -> Iterator[Callable[[Any], Any] | None]:
    """While it lasts, `model` has results of fixed size, if it is a detection model.

    Yields:
        What makes the model's own result of such a one, or None for any other model.

    Raises:
        Error: stage `capture`, for a detection model in training mode.
    """
    # A model of torchvision's comes with torchvision's module.
    if "torchvision.models.detection" not in sys.modules or not _is_detector(model):
        yield None
        return
    if model.training:
        raise Error(
            "capture",
            "a detection model in training mode returns losses for targets, not boxes",
            hint="call eval() first",
        )
    from importers.detection.exchange import exchanged

    with exchanged(model):
        yield without_absent


def without_absent(detections: list[dict[str, torch.Tensor]]) -> list[dict[str, torch.Tensor]]:
    """The detections of each image without those that are only there to fill up."""
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
