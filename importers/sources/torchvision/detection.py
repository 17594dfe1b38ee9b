"""Constructor options and random weights with which detection models detect something."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

# Side of the images. Models that resize images use this size too: torchvision's default of 800
# takes a minute per image on one core. Below 160, the last level of a pyramid has one pixel.
SIZE = 160
# The scale of the last norm of a residual branch, with random weights. With the initial scale of 1,
# a change of the image grows a hundredfold over ResNet-50, and so do rounding errors: eager without
# oneDNN then selects other boxes than eager with it.
_BRANCH = 0.2
# With fewer values, the deviation of a channel is not representative of another image.
_FEW = 64


@dataclass(frozen=True)
class _Spread:
    """The target statistics of the values of a channel over all positions."""

    deviation: float
    mean: float = 0.0


# Statistics by the end of a layer's name. Freshly initialized layers return the same for every
# position, and no score reaches its threshold.
_SPREADS = {
    # R-CNN: logits of 91 classes and box offsets in tenths of a box; logits and offsets of anchors.
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
# SSD: one layer for each level, with 91 logits per anchor.
_OF_LEVELS = {
    "classification_head.module_list": _Spread(1.5),
    "regression_head.module_list": _Spread(0.5),
}


def options(name: str) -> dict[str, Any]:
    """Returns the builder's options for a model with random weights.

    They set fewer candidates and results than torchvision's defaults: each suppression is a
    separate step, and among several hundred random scores, two may be equal to the last digit.
    """
    # SSD and the `320` model have a fixed size.
    size = {} if name.startswith("ssd") or "_320_" in name else {"min_size": SIZE, "max_size": SIZE}
    if "rcnn" in name:
        return size | {
            "rpn_pre_nms_top_n_test": 300,
            "rpn_post_nms_top_n_test": 100,
            "box_detections_per_img": 30,
        }
    return size | {"topk_candidates": 200, "detections_per_img": 40}


def images(name: str, count: int) -> list[torch.Tensor]:
    """Returns random images f32 `[3, side, side]` with values from 0 to 1."""
    side = 300 if name.startswith("ssd300") else 320 if "320" in name else SIZE
    return [torch.rand(3, side, side) for _ in range(count)]


def damp_branches(model: nn.Module) -> None:
    """Scales down the residual branches of a new ResNet, as in a trained one."""
    from torchvision.models import resnet

    with torch.no_grad():
        for block in model.modules():
            if isinstance(block, resnet.Bottleneck):
                block.bn3.weight *= _BRANCH


@contextlib.contextmanager
def spreading(model: nn.Module) -> Iterator[None]:
    """Makes the first call of each output layer rescale its weights, inside the `with` block.

    Each channel of the layer's result then has the mean and deviation for the layer's name, over
    all positions. So scores differ between positions and some are high.
    """
    hooks = []
    for name, layer in model.named_modules():
        spread = _spread(name)
        kinds = (nn.Conv2d, nn.ConvTranspose2d, nn.Linear)
        # In a head, only the last layer has a bias, because no norm follows it.
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
            # In the last levels of a pyramid, channels differ but positions hardly do.
            values = values.reshape(1, -1).expand(len(values), -1)
        mean = values.mean(1)
        # Values in the corners of an image, next to two padded edges, can be outliers.
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
