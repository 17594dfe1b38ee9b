"""Detection models: constructor options and random weights with which there is something to see."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# Side of the images, and what models that resize them resize them to: torchvision's default of 800
# takes a minute per image on one core. Below 160, the last level of a pyramid has one pixel.
SIZE = 160
# What the last norm of a residual branch scales by, where its weights are random. With 1, as it is
# initialised, a change of the image grows a hundredfold over ResNet-50, and so does rounding: eager
# without oneDNN then chooses other boxes than eager with it.
_BRANCH = 0.2
# With fewer values than these, a channel's deviation says nothing about another image.
_FEW = 64


@dataclass(frozen=True)
class _Spread:
    """What the values of a channel of a layer's result are moved to, over all places."""

    deviation: float
    mean: float = 0.0


# By the end of a layer's name. Freshly initialised layers say the same of every place, and no score
# reaches its threshold.
_SPREADS = {
    # R-CNN: logits of 91 classes and offsets in tenths of a box; logits and offsets of anchors.
    "box_predictor.cls_score": _Spread(1.5),
    "box_predictor.bbox_pred": _Spread(1.0),
    "rpn.head.cls_logits": _Spread(2.0),
    "rpn.head.bbox_pred": _Spread(0.3),
    "mask_fcn_logits": _Spread(1.5),
    "kps_score_lowres": _Spread(1.0),
    # Models that classify anchors: the sigmoid of few logits is above 0.05.
    "classification_head.cls_logits": _Spread(1.5, -6.0),
    "regression_head.bbox_reg": _Spread(0.3, 0.5),
    "regression_head.bbox_ctrness": _Spread(1.0),
}
# SSD: one layer for each level, of 91 logits per anchor.
_OF_LEVELS = {
    "classification_head.module_list": _Spread(1.5),
    "regression_head.module_list": _Spread(0.5),
}


def options(name: str) -> dict[str, Any]:
    """What the builder of `name` is called with where weights are random.

    Fewer candidates and results than torchvision's defaults: each suppression is a step of its own,
    and of several hundred random scores, two are equal to the last digit.
    """
    # SSD and the `320` model have a size of their own.
    size = {} if name.startswith("ssd") or "_320_" in name else {"min_size": SIZE, "max_size": SIZE}
    if "rcnn" in name:
        return size | {
            "rpn_pre_nms_top_n_test": 300,
            "rpn_post_nms_top_n_test": 100,
            "box_detections_per_img": 30,
        }
    return size | {"topk_candidates": 200, "detections_per_img": 40}


def images(name: str, count: int) -> list[torch.Tensor]:
    """Images f32 `[3, side, side]` with values from 0 to 1."""
    side = 300 if name.startswith("ssd300") else 320 if "320" in name else SIZE
    return [torch.rand(3, side, side) for _ in range(count)]


def damp_branches(model: nn.Module) -> None:
    """Makes the residual branches of a fresh ResNet small, as they are in a trained one."""
    from torchvision.models import resnet

    with torch.no_grad():
        for block in model.modules():
            if isinstance(block, resnet.Bottleneck):
                block.bn3.weight *= _BRANCH


@contextlib.contextmanager
def spreading(model: nn.Module) -> Iterator[None]:
    """While it lasts, the first call of each deciding layer changes its weights.

    Each channel of the layer's result then has the mean and the deviation that the layer's name
    stands for, over all places, so that scores differ from place to place and some are high.
    """
    hooks = []
    for name, layer in model.named_modules():
        spread = _spread(name)
        kinds = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
        # Within a head, only the last layer, after which there is no norm, has a bias.
        if spread is not None and isinstance(layer, kinds) and layer.bias is not None:
            hooks.append(layer.register_forward_hook(_Once(spread)))
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _spread(name: str) -> _Spread | None:
    for ending, spread in _SPREADS.items():
        if name.endswith(ending):
            return spread
    for part, spread in _OF_LEVELS.items():
        if part in name:
            return spread
    return None


class _Once:
    """A forward hook that changes the layer at its first call."""

    def __init__(self, spread: _Spread):
        self._spread = spread
        self._done = False

    def __call__(self, layer: nn.Module, _inputs: tuple, result: torch.Tensor) -> Any:
        if self._done:
            return None
        self._done = True
        values = result.transpose(0, 1).flatten(1) if result.dim() > 2 else result.t()
        if values.shape[1] < _FEW:
            # The last levels of a pyramid: channels differ there, places hardly do.
            values = values.reshape(1, -1).expand(len(values), -1)
        mean = values.mean(1)
        # The corners of an image, beside two padded edges, can be far from all other places.
        farthest = (values - mean[:, None]).abs().amax(1)
        scale = self._spread.deviation / torch.maximum(values.std(1), farthest / 4)
        axis = 1 if isinstance(layer, nn.ConvTranspose2d) else 0
        shape = [1] * layer.weight.dim()
        shape[axis] = -1
        with torch.no_grad():
            layer.weight *= scale.reshape(shape)
            layer.bias.copy_((layer.bias - mean) * scale + self._spread.mean)
        channels = [1, -1] + [1] * (result.dim() - 2)
        return (result - mean.reshape(channels)) * scale.reshape(channels) + self._spread.mean
