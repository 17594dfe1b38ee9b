"""Lowerings of pooling: maximum, mean and norm of windows."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

from importers.onnx.node import Node
from importers.onnx.operators.convolution import padded, window_pads
from importers.onnx.registry import operator

Tensor = torch.Tensor
_MAX = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
_AVERAGE = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}


class _Windows:
    """The pooling windows of a node over its input."""

    def __init__(self, node: Node, x: Tensor):
        self.kernel = node.get("kernel_shape")
        rank = len(self.kernel)
        self.strides = node.get("strides") or [1] * rank
        self.dilations = node.get("dilations") or [1] * rank
        self.pads = window_pads(node, x, self.kernel)
        # How far the last window that starts inside the input reaches beyond the padding.
        self.beyond = [0] * rank
        if node.get("ceil_mode", 0):
            for i, size in enumerate(x.shape[2:]):
                before, after = self.pads[i]
                reach = self.dilations[i] * (self.kernel[i] - 1) + 1
                count = -(-(size + before + after - reach) // self.strides[i]) + 1
                if (count - 1) * self.strides[i] >= size + before:
                    count -= 1
                end = (count - 1) * self.strides[i] + reach
                self.beyond[i] = max(end - size - before - after, 0)

    @property
    def is_plain(self) -> bool:
        """True if PyTorch's own pooling supports these windows."""
        return (
            len(self.kernel) in _MAX
            and not any(self.beyond)
            and all(a == b and 2 * a <= k for (a, b), k in zip(self.pads, self.kernel, strict=True))
        )

    def of(self, x: Tensor, value: float) -> Tensor:
        """Returns the windows, with elements in the last axis, padded with `value`."""
        pads = [(a, b + more) for (a, b), more in zip(self.pads, self.beyond, strict=True)]
        x = padded(x, pads, value)
        for i, size in enumerate(self.kernel):
            reach = self.dilations[i] * (size - 1) + 1
            x = x.unfold(2 + i, reach, self.strides[i])
            x = x[..., :: self.dilations[i]] if self.dilations[i] > 1 else x
        return x.flatten(-len(self.kernel))


def _smallest(dtype: torch.dtype) -> float:
    return float("-inf") if dtype.is_floating_point else torch.iinfo(dtype).min


@operator("MaxPool")
def max_pool(node: Node, x: Tensor) -> tuple[Tensor, Tensor | None]:
    """Lowers `MaxPool`: returns the largest elements and their indices in the flattened input."""
    windows = _Windows(node, x)
    if not node.wants(1) and windows.is_plain and x.is_floating_point():
        pads = [before for before, _ in windows.pads]
        pool = _MAX[len(windows.kernel)]
        return pool(x, windows.kernel, windows.strides, pads, windows.dilations), None
    found = windows.of(x, _smallest(x.dtype))
    if not node.wants(1):
        return found.amax(-1), None
    order = list(range(2, x.dim()))
    strides = [math.prod(x.shape[axis + 1 :]) for axis in order]
    if node.get("storage_order", 0):
        strides = [math.prod(x.shape[2:axis]) for axis in order]
    place = torch.zeros((1, 1, *[1] * len(order)), dtype=torch.int64)
    for i, axis in enumerate(order):
        shape = [-1 if j == axis else 1 for j in range(x.dim())]
        place = place + (torch.arange(x.shape[axis]) * strides[i]).reshape(shape)
    places = windows.of(place.expand(1, 1, *x.shape[2:]).contiguous(), 0)
    best = found.argmax(-1, keepdim=True)
    places = places.expand(found.shape).gather(-1, best).squeeze(-1)
    plane = torch.arange(x.shape[0] * x.shape[1]) * math.prod(x.shape[2:])
    places = places + plane.reshape(x.shape[0], x.shape[1], *[1] * len(order))
    return found.gather(-1, best).squeeze(-1), places


@operator("AveragePool")
def average_pool(node: Node, x: Tensor) -> Tensor:
    """Lowers `AveragePool`, with or without the padding in the count."""
    windows = _Windows(node, x)
    count_padding = bool(node.get("count_include_pad", 0))
    if windows.is_plain and all(step == 1 for step in windows.dilations):
        pads = [before for before, _ in windows.pads]
        pool = _AVERAGE[len(windows.kernel)]
        return pool(x, windows.kernel, windows.strides, pads, count_include_pad=count_padding)
    ones = torch.ones_like(x[:1, :1])
    if count_padding:
        # Elements beyond the padding do not count.
        ones = padded(ones, windows.pads, 1)
        inner = _Windows(node, x)
        inner.pads = [(0, 0)] * len(windows.kernel)
        counts = inner.of(ones, 0).sum(-1)
    else:
        counts = windows.of(ones, 0).sum(-1)
    return windows.of(x, 0).sum(-1) / counts


@operator("LpPool")
def lp_pool(node: Node, x: Tensor) -> Tensor:
    """Lowers `LpPool`: the norm of each window."""
    p = node.get("p", 2)
    found = _Windows(node, x).of(x, 0).abs()
    return found.pow(p).sum(-1).pow(1 / p)


def _spatial(x: Tensor) -> list[int]:
    return list(range(2, x.dim()))


@operator("GlobalAveragePool")
def global_average_pool(_node: Node, x: Tensor) -> Tensor:
    """Lowers `GlobalAveragePool`: the mean of each channel."""
    return x.mean(_spatial(x), keepdim=True)


@operator("GlobalMaxPool")
def global_max_pool(_node: Node, x: Tensor) -> Tensor:
    """Lowers `GlobalMaxPool`: the largest element of each channel."""
    return x.amax(_spatial(x), keepdim=True)


@operator("GlobalLpPool")
def global_lp_pool(node: Node, x: Tensor) -> Tensor:
    """Lowers `GlobalLpPool`: the norm of each channel."""
    p = node.get("p", 2)
    return x.abs().pow(p).sum(_spatial(x), keepdim=True).pow(1 / p)


@operator("MaxUnpool")
def max_unpool(node: Node, x: Tensor, places: Tensor, _shape: Tensor | None = None) -> Tensor:
    """Lowers `MaxUnpool`: writes elements to the indices of a pooling, and zeros elsewhere."""
    kernel = node.get("kernel_shape")
    strides = node.get("strides") or [1] * len(kernel)
    pads = node.get("pads") or [0] * (2 * len(kernel))
    inferred = [
        (size - 1) * strides[i] - pads[i] - pads[i + len(kernel)] + kernel[i]
        for i, size in enumerate(x.shape[2:])
    ]
    # The indices refer to the inferred shape; a larger output shape only adds zeros.
    shape = [*x.shape[:2], *inferred]
    flat = torch.zeros(math.prod(shape), dtype=x.dtype)
    result = flat.scatter(0, places.reshape(-1), x.reshape(-1)).reshape(shape)
    final = node.integers(2)
    if final is None:
        return result
    more = [(0, final[2 + i] - size) for i, size in enumerate(inferred)]
    return F.pad(result, list(itertools.chain.from_iterable(reversed(more))))
