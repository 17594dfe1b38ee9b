"""Lowerings of normalizations and softmax."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F

from importers.onnx.element_types import dtype_of
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
_HALF = (torch.float16, torch.bfloat16)


def _by_channel(x: Tensor, rank: int) -> Tensor:
    return x.reshape(-1, *[1] * (rank - 2)) if rank > 2 else x


@operator("BatchNormalization")
def batch_normalization(
    node: Node, x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor
) -> tuple[Tensor, ...]:
    """Lowers `BatchNormalization`, with given statistics, or in training those of the batch."""
    eps, kept = node.get("epsilon", 1e-5), node.get("momentum", 0.9)
    if not node.get("training_mode", 0):
        if x.dtype == scale.dtype == mean.dtype and x.dim() > 1:
            return (F.batch_norm(x, mean, variance, scale, bias, False, 0.0, eps),)
        normal = (x - _by_channel(mean, x.dim())) / torch.sqrt(_by_channel(variance, x.dim()) + eps)
        return ((normal * _by_channel(scale, x.dim()) + _by_channel(bias, x.dim())).to(x.dtype),)
    axes = [axis for axis in range(x.dim()) if axis != 1]
    own_mean = x.mean(axes)
    own_variance = x.var(axes, unbiased=False)
    normal = x - _by_channel(own_mean, x.dim())
    normal = normal / torch.sqrt(_by_channel(own_variance, x.dim()) + eps)
    result = normal * _by_channel(scale, x.dim()) + _by_channel(bias, x.dim())
    running = (mean * kept + own_mean * (1 - kept), variance * kept + own_variance * (1 - kept))
    return result.to(x.dtype), *running


@operator("InstanceNormalization")
def instance_normalization(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Lowers `InstanceNormalization`: normalizes each channel of each batch element."""
    normal = _normal(x, list(range(2, x.dim())), node.get("epsilon", 1e-5))[0]
    return normal * _by_channel(scale, x.dim()) + _by_channel(bias, x.dim())


def _normal(x: Tensor, axes: list[int], eps: float) -> tuple[Tensor, Tensor, Tensor]:
    """Returns (x - mean) / deviation, the mean, and 1 / deviation."""
    mean = x.mean(axes, keepdim=True)
    apart = x - mean
    inverse = torch.rsqrt((apart * apart).mean(axes, keepdim=True) + eps)
    return apart * inverse, mean, inverse


@operator("LayerNormalization")
def layer_normalization(
    node: Node, x: Tensor, scale: Tensor, bias: Tensor | None = None
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Lowers `LayerNormalization` over the last axes, computed in the type of `stash_type`."""
    axis = node.get("axis", -1) % x.dim()
    eps = node.get("epsilon", 1e-5)
    wide = dtype_of(node.get("stash_type", 1), node.operator)
    wide = x.dtype if x.dtype == torch.float64 else wide
    shape = list(x.shape[axis:])
    plain = x.dtype == wide and list(scale.shape) == shape
    plain = plain and (bias is None or list(bias.shape) == shape)
    if plain and not node.wants(1) and not node.wants(2):
        return F.layer_norm(x, shape, scale, bias, eps), None, None
    normal, mean, inverse = _normal(x.to(wide), list(range(axis, x.dim())), eps)
    result = normal.to(x.dtype) * scale
    return result if bias is None else result + bias, mean, inverse


@operator("RMSNormalization")
def rms_normalization(node: Node, x: Tensor, scale: Tensor) -> Tensor:
    """Lowers `RMSNormalization` over the last axes, computed in the type of `stash_type`."""
    axis = node.get("axis", -1) % x.dim()
    wide = dtype_of(node.get("stash_type", 1), node.operator)
    wide = x.to(x.dtype if x.dtype == torch.float64 else wide)
    mean = (wide * wide).mean(list(range(axis, x.dim())), keepdim=True)
    return (wide / torch.sqrt(mean + node.get("epsilon", 1e-5))).to(x.dtype) * scale


@operator("GroupNormalization")
def group_normalization(node: Node, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
    """Lowers `GroupNormalization`. Scales are per group up to opset 20, per channel later."""
    groups = node.get("num_groups")
    if node.opset < 21:
        each = x.shape[1] // groups
        scale, bias = scale.repeat_interleave(each), bias.repeat_interleave(each)
    if x.dtype not in _HALF:
        return F.group_norm(x, groups, scale, bias, node.get("epsilon", 1e-5))
    wide = x.to(torch.float32).reshape(x.shape[0], groups, -1)
    normal = _normal(wide, [2], node.get("epsilon", 1e-5))[0].reshape(x.shape).to(x.dtype)
    return normal * _by_channel(scale, x.dim()) + _by_channel(bias, x.dim())


@operator("LpNormalization")
def lp_normalization(node: Node, x: Tensor) -> Tensor:
    """Lowers `LpNormalization`: divides by the norm along an axis; 0 where the norm is 0."""
    axis, p = node.get("axis", -1), node.get("p", 2)
    norm = x.abs().sum(axis, keepdim=True) if p == 1 else (x * x).sum(axis, keepdim=True).sqrt()
    is_zero = norm == 0
    return torch.where(is_zero, torch.zeros_like(x), x / torch.where(is_zero, 1, norm))


@operator("LRN")
def lrn(node: Node, x: Tensor) -> Tensor:
    """Lowers `LRN`: normalizes by the squares of neighboring channels."""
    size = node.get("size")
    before = (size - 1) // 2
    squares = F.pad(x * x, [0, 0] * (x.dim() - 2) + [before, size - 1 - before])
    near = squares.unfold(1, size, 1).sum(-1)
    alpha, beta = node.get("alpha", 1e-4), node.get("beta", 0.75)
    return x / torch.pow(node.get("bias", 1.0) + alpha / size * near, beta)


@operator("MeanVarianceNormalization")
def mean_variance_normalization(node: Node, x: Tensor) -> Tensor:
    """Lowers `MeanVarianceNormalization`: (x - mean) / (deviation + 1e-9)."""
    axes = node.get("axes") or [0, 2, 3]
    apart = x - x.mean(axes, keepdim=True)
    variance = (x * x).mean(axes, keepdim=True) - x.mean(axes, keepdim=True) ** 2
    return apart / (variance.sqrt() + 1e-9)


def _flattened(node: Node, x: Tensor) -> tuple[Tensor, int]:
    """Returns the tensor and the axis. Before opset 13, flattens to 2-d at the axis."""
    if node.opset >= 13:
        return x, node.get("axis", -1)
    axis = node.get("axis", 1) % x.dim()
    return x.reshape([math.prod(x.shape[:axis]), math.prod(x.shape[axis:])]), 1


@operator("Softmax")
def softmax(node: Node, x: Tensor) -> Tensor:
    """Lowers `Softmax`."""
    flat, axis = _flattened(node, x)
    return torch.softmax(flat, axis).reshape(x.shape)


@operator("LogSoftmax")
def log_softmax(node: Node, x: Tensor) -> Tensor:
    """Lowers `LogSoftmax`."""
    flat, axis = _flattened(node, x)
    return torch.log_softmax(flat, axis).reshape(x.shape)
