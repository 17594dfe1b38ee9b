"""Lowerings of random number operators, with PyTorch's generator."""

from __future__ import annotations

import torch

from importers.onnx.element_types import code_of
from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor


@operator("RandomUniform", "RandomNormal")
def random(node: Node) -> Tensor:
    """Lowers `RandomUniform` and `RandomNormal`, with a given shape."""
    return _drawn(node, node.get("shape"), node.dtype("dtype", 1))


@operator("RandomUniformLike", "RandomNormalLike")
def random_like(node: Node, x: Tensor) -> Tensor:
    """Lowers `Random*Like`: the shape of a tensor, and its type unless another one is given."""
    return _drawn(node, list(x.shape), node.dtype("dtype", code_of(x.dtype)))


@operator("Bernoulli")
def bernoulli(node: Node, x: Tensor) -> Tensor:
    """Lowers `Bernoulli`: 1 with the probability that the input gives."""
    drawn = torch.rand(x.shape, dtype=x.dtype) < x
    return drawn.to(node.dtype("dtype", code_of(x.dtype)))


def _drawn(node: Node, shape: list[int], dtype: torch.dtype) -> Tensor:
    if "Normal" in node.operator:
        return torch.randn(shape, dtype=dtype) * node.get("scale", 1.0) + node.get("mean", 0.0)
    low, high = node.get("low", 0.0), node.get("high", 1.0)
    return torch.rand(shape, dtype=dtype) * (high - low) + low


@operator("Dropout")
def dropout(
    node: Node, x: Tensor, _ratio: Tensor | None = None, _training: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Lowers `Dropout`, the identity in inference. Also returns the mask of kept elements."""
    ratio = node.number(1, node.get("ratio", 0.5))
    if not node.number(2, False) or ratio == 0:
        return x, torch.ones_like(x, dtype=torch.bool)
    kept = torch.rand(x.shape, dtype=torch.float32) >= ratio
    return torch.where(kept, x / (1 - ratio), torch.zeros_like(x)), kept
