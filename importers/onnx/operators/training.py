"""Lowerings of optimizer steps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
_DOMAIN = "ai.onnx.preview.training"


def _each(
    node: Node, *tensors: Tensor, count: int, step: Callable[..., tuple[Tensor, ...]]
) -> tuple[Tensor, ...]:
    """Runs the step for each optimized tensor. Inputs and results are grouped by kind."""
    rate, number, *rest = tensors
    total = len(rest) // count
    groups = [rest[i * total : (i + 1) * total] for i in range(count)]
    found = [step(node, rate, number, *parts) for parts in zip(*groups, strict=True)]
    return tuple(each for kind in zip(*found, strict=True) for each in kind)


def _adagrad(
    node: Node, rate: Tensor, number: Tensor, x: Tensor, gradient: Tensor, squares: Tensor
) -> tuple[Tensor, ...]:
    rate = rate / (1 + number.to(rate.dtype) * node.get("decay_factor", 0.0))
    gradient = node.get("norm_coefficient", 0.0) * x + gradient
    squares = squares + gradient * gradient
    return x - rate * gradient / (squares.sqrt() + node.get("epsilon", 1e-6)), squares


def _adam(
    node: Node,
    rate: Tensor,
    number: Tensor,
    x: Tensor,
    gradient: Tensor,
    mean: Tensor,
    squares: Tensor,
) -> tuple[Tensor, ...]:
    alpha, beta = node.get("alpha", 0.9), node.get("beta", 0.999)
    gradient = node.get("norm_coefficient", 0.0) * x + gradient
    mean = alpha * mean + (1 - alpha) * gradient
    squares = beta * squares + (1 - beta) * gradient * gradient
    steps = number.to(rate.dtype)
    corrected = rate * torch.sqrt(1 - beta**steps) / (1 - alpha**steps)
    rate = torch.where(number > 0, corrected, rate)
    after = x - rate * (mean / (squares.sqrt() + node.get("epsilon", 1e-6)))
    return (1 - node.get("norm_coefficient_post", 0.0)) * after, mean, squares


def _momentum(
    node: Node, rate: Tensor, number: Tensor, x: Tensor, gradient: Tensor, sums: Tensor
) -> tuple[Tensor, ...]:
    alpha, beta = node.get("alpha"), node.get("beta")
    gradient = node.get("norm_coefficient", 0.0) * x + gradient
    share = torch.where(number > 0, torch.full_like(rate, beta), torch.ones_like(rate))
    sums = alpha * sums + share * gradient
    if node.get("mode") == "nesterov":
        return x - rate * (gradient + alpha * sums), sums
    return x - rate * sums, sums


# By name: the number of tensors for each optimized one, and the step. Momentum is standard or
# Nesterov.
for _name, _count, _step in (
    ("Adagrad", 3, _adagrad),
    ("Adam", 4, _adam),
    ("Momentum", 3, _momentum),
):
    operator(_name, domain=_DOMAIN)(partial(_each, count=_count, step=_step))
