"""Lowerings of reductions over axes."""

from __future__ import annotations

from collections.abc import Callable

import torch

from importers.onnx.node import Node
from importers.onnx.registry import operator

Tensor = torch.Tensor
Reduction = Callable[[Tensor, list[int], bool], Tensor]


def _sum(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return torch.sum(x, axes, keepdim=keep, dtype=x.dtype) if axes else x


def _mean(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    if x.is_floating_point():
        return torch.mean(x, axes, keepdim=keep) if axes else x
    count = 1
    for axis in axes:
        count = count * x.shape[axis]
    return torch.div(_sum(x, axes, keep), count, rounding_mode="trunc").to(x.dtype)


def _product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    for axis in sorted(axes, reverse=True):
        x = torch.prod(x, axis, keepdim=keep, dtype=x.dtype)
    return x


def _extreme(largest: bool) -> Reduction:
    def reduce(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        if not axes:
            return x
        if any(isinstance(x.shape[axis], int) and x.shape[axis] == 0 for axis in axes):
            shape = [1 if i in axes else n for i, n in enumerate(x.shape) if keep or i not in axes]
            return torch.full(shape, _end(x.dtype, not largest), dtype=x.dtype)
        if x.dtype == torch.bool:
            x = x.to(torch.uint8)
            return reduce(x, axes, keep).to(torch.bool)
        return (torch.amax if largest else torch.amin)(x, axes, keepdim=keep)

    return reduce


def _end(dtype: torch.dtype, upper: bool) -> float | int | bool:
    """Returns the largest or the smallest value of a type."""
    if dtype == torch.bool:
        return upper
    if dtype.is_floating_point:
        return float("inf") if upper else float("-inf")
    return torch.iinfo(dtype).max if upper else torch.iinfo(dtype).min


def _in_floats(function: Reduction) -> Reduction:
    """Extends a reduction to integers, in float64 with truncated results."""

    def reduce(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        if x.is_floating_point():
            return function(x, axes, keep)
        return function(x.to(torch.float64), axes, keep).to(x.dtype)

    return reduce


def _log_sum_exp(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    return torch.logsumexp(x, axes, keepdim=keep) if axes else x


_REDUCTIONS: dict[str, Reduction] = {
    "ReduceL1": lambda x, axes, keep: _sum(x.abs(), axes, keep),
    "ReduceL2": _in_floats(lambda x, axes, keep: torch.sqrt(_sum(x * x, axes, keep))),
    "ReduceLogSum": _in_floats(lambda x, axes, keep: torch.log(_sum(x, axes, keep))),
    "ReduceLogSumExp": _in_floats(_log_sum_exp),
    "ReduceMax": _extreme(True),
    "ReduceMean": _mean,
    "ReduceMin": _extreme(False),
    "ReduceProd": _product,
    "ReduceSum": _sum,
    "ReduceSumSquare": lambda x, axes, keep: _sum(x * x, axes, keep),
}


def _reduced(node: Node, x: Tensor, function: Reduction) -> Tensor:
    axes = node.integers(1, "axes")
    if not axes:
        if node.get("noop_with_empty_axes", 0):
            # Each element is reduced on its own.
            return function(x, [], True)
        axes = list(range(x.dim()))
    axes = sorted({axis % x.dim() for axis in axes}) if x.dim() else []
    return function(x, axes, bool(node.get("keepdims", 1)))


def _register() -> None:
    for name, function in _REDUCTIONS.items():
        operator(name)(lambda node, x, *_axes, function=function: _reduced(node, x, function))


_register()


@operator("ArgMax")
def arg_max(node: Node, x: Tensor) -> Tensor:
    """Lowers `ArgMax`: the index of the largest element, the first or the last of equal ones."""
    return _index_of(torch.argmax, node, x)


@operator("ArgMin")
def arg_min(node: Node, x: Tensor) -> Tensor:
    """Lowers `ArgMin`: the index of the smallest element, the first or the last of equal ones."""
    return _index_of(torch.argmin, node, x)


def _index_of(function: Callable[..., Tensor], node: Node, x: Tensor) -> Tensor:
    axis, keep = node.get("axis", 0), bool(node.get("keepdims", 1))
    if not node.get("select_last_index", 0):
        return function(x, dim=axis, keepdim=keep)
    return x.shape[axis] - 1 - function(x.flip(axis), dim=axis, keepdim=keep)


@operator("CumSum")
def cum_sum(node: Node, x: Tensor, _axis: Tensor) -> Tensor:
    """Lowers `CumSum`: cumulative sums along an axis."""
    return _running(node, x, lambda x, axis: torch.cumsum(x, axis, dtype=x.dtype), 0)


@operator("CumProd")
def cum_prod(node: Node, x: Tensor, _axis: Tensor) -> Tensor:
    """Lowers `CumProd`: cumulative products along an axis."""
    return _running(node, x, lambda x, axis: torch.cumprod(x, axis).to(x.dtype), 1)


def _running(node: Node, x: Tensor, function: Callable, neutral: int) -> Tensor:
    axis = node.number(1) % x.dim()
    if node.get("reverse", 0):
        x = x.flip(axis)
    if node.get("exclusive", 0):
        first = torch.full_like(x.narrow(axis, 0, 1), neutral)
        x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
    result = function(x, axis)
    return result.flip(axis) if node.get("reverse", 0) else result
