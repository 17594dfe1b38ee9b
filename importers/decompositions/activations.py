"""Activations and softmax."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from importers.decompositions.numbers import REDUCED_FLOATS


def elu(
    x: torch.Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> torch.Tensor:
    """Returns `scale` x, and `scale` `alpha` (e^(`input_scale` x) - 1) below zero.

    It is computed in f32 or f64 by expm1, as in eager, which is accurate next to zero.
    """
    wide = x if x.dtype == torch.float64 else x.float()
    left = torch.expm1(wide * input_scale) * (alpha * scale)
    return torch.where(wide < 0, left, wide * scale).to(x.dtype)


def leaky_relu(x: torch.Tensor, negative_slope: float = 0.01) -> torch.Tensor:
    """Returns positive elements as they are, and the others times `negative_slope`."""
    return torch.where(x > 0, x, x * negative_slope)


def gelu(x: torch.Tensor, *, approximate: str = "none") -> torch.Tensor:
    """Returns GELU of floating-point `x`, by tanh or exactly.

    Exact GELU is computed in f32 for f16 and bf16, and NotImplemented for other dtypes.
    """
    wide = x.float() if x.dtype in REDUCED_FLOATS else x
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
        return (0.5 * wide * (1 + torch.tanh(inner))).to(x.dtype)
    if x.dtype not in REDUCED_FLOATS:
        return NotImplemented
    return torch.ops.aten.gelu.default(wide).to(x.dtype)


def log_softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 0 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    return NotImplemented if x.dim() else (x - x).to(torch.float32 if half_to_float else x.dtype)


def softmax(x: torch.Tensor, dim: int, half_to_float: bool) -> Any:
    """Returns 1 for a tensor without dimensions, NaN if not finite; NotImplemented for others."""
    if x.dim():
        return NotImplemented
    return torch.exp(x - x).to(torch.float32 if half_to_float else x.dtype)


def safe_softmax(x: torch.Tensor, dim: int, dtype: torch.dtype | None = None) -> Any:
    """Returns softmax, with 0 in place of NaN for a row whose elements are all -inf.

    The largest element shows whether all are -inf: PyTorch's decomposition reads all scores of an
    attention again for this. f16 and bf16 are computed in f32, as in eager. NotImplemented for
    tensors that have no dimensions, or may have no elements.
    """
    if not x.dim() or not statically_known_true(x.shape[dim] != 0):
        return NotImplemented
    x = x if dtype is None else x.to(dtype)
    wide = x.float() if x.dtype in REDUCED_FLOATS else x
    largest = wide.amax(dim, keepdim=True)
    exponentials = torch.exp(wide - largest)
    shares = exponentials / exponentials.sum(dim, keepdim=True)
    return torch.where(largest == -torch.inf, 0.0, shares).to(x.dtype)


def rrelu_backward(
    grad_output: torch.Tensor,
    x: torch.Tensor,
    noise: torch.Tensor,
    lower: float,
    upper: float,
    training: bool,
    self_is_result: bool,
) -> torch.Tensor:
    """Returns the gradient of a leaky ReLU whose slopes are `noise`, or equal in evaluation."""
    if training and upper - lower > 1e-6:
        return grad_output * noise
    slope = (lower + upper) / 2
    return torch.ops.aten.leaky_relu_backward(grad_output, x, slope, self_is_result)
