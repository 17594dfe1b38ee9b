"""Lowerings of operators that read and write elements by indices, sort, and count."""

from __future__ import annotations

import math

import torch

from importers.onnx.node import Node
from importers.onnx.operators.unsigned import WIDER
from importers.onnx.registry import operator

Tensor = torch.Tensor
_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def _from_start(index: Tensor, size: int) -> Tensor:
    """Converts negative indices, which count from the end, to indices from the start."""
    index = index.to(torch.int64)
    return torch.where(index < 0, index + size, index)


@operator("Gather")
def gather(node: Node, x: Tensor, index: Tensor) -> Tensor:
    """Lowers `Gather`: selects slices along an axis."""
    axis = node.get("axis", 0) % x.dim()
    flat = _from_start(index, x.shape[axis]).reshape(-1)
    shape = [*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]]
    return x.index_select(axis, flat).reshape(shape)


@operator("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(_node: Node, x: Tensor, index: Tensor) -> Tensor:
    """Lowers `ArrayFeatureExtractor`: selects elements of the last axis."""
    return x.index_select(-1, index.to(torch.int64).reshape(-1))


@operator("GatherElements")
def gather_elements(node: Node, x: Tensor, index: Tensor) -> Tensor:
    """Lowers `GatherElements`: selects an element for each index."""
    axis = node.get("axis", 0)
    return torch.gather(x, axis, _from_start(index, x.shape[axis]))


@operator("GatherND")
def gather_nd(node: Node, x: Tensor, index: Tensor) -> Tensor:
    """Lowers `GatherND`: selects slices, each by several indices."""
    batch = node.get("batch_dims", 0)
    depth = index.shape[-1]
    sizes = x.shape[batch : batch + depth]
    linear = _linear(index, sizes)
    outer, rest = list(x.shape[:batch]), list(x.shape[batch + depth :])
    flat = x.reshape([math.prod(outer), math.prod(sizes), math.prod(rest)])
    places = linear.reshape(math.prod(outer), -1, 1)
    found = torch.gather(flat, 1, places.expand(-1, -1, math.prod(rest)))
    return found.reshape([*index.shape[:-1], *rest])


def _linear(index: Tensor, sizes: torch.Size) -> Tensor:
    """Converts index tuples in the last axis to indices into the flattened dimensions."""
    linear = torch.zeros(index.shape[:-1], dtype=torch.int64)
    for axis, size in enumerate(sizes):
        linear = linear * size + _from_start(index[..., axis], size)
    return linear


@operator("Scatter", "ScatterElements")
def scatter_elements(node: Node, x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    """Lowers `ScatterElements`: writes an element for each index, or reduces it into `x`."""
    axis = node.get("axis", 0)
    return _scattered(node, x, axis, _from_start(index, x.shape[axis]), updates)


@operator("ScatterND")
def scatter_nd(node: Node, x: Tensor, index: Tensor, updates: Tensor) -> Tensor:
    """Lowers `ScatterND`: writes slices, each at several indices."""
    depth = index.shape[-1]
    sizes, rest = x.shape[:depth], math.prod(x.shape[depth:])
    places = _linear(index, sizes).reshape(-1, 1).expand(-1, rest)
    flat = x.reshape(math.prod(sizes), rest)
    return _scattered(node, flat, 0, places, updates.reshape(-1, rest)).reshape(x.shape)


def _scattered(node: Node, x: Tensor, axis: int, index: Tensor, updates: Tensor) -> Tensor:
    reduction = node.get("reduction", "none")
    if reduction == "none":
        return x.scatter(axis, index, updates)
    if reduction == "add":
        return x.scatter_add(axis, index, updates)
    return x.scatter_reduce(axis, index, updates, _REDUCTIONS[reduction], include_self=True)


@operator("OneHot")
def one_hot(node: Node, index: Tensor, _depth: Tensor, values: Tensor) -> Tensor:
    """Lowers `OneHot`. Indices out of range set no element."""
    depth = int(node.number(1))
    axis = node.get("axis", -1) % (index.dim() + 1)
    shape = [-1 if i == axis else 1 for i in range(index.dim() + 1)]
    places = _from_start(index, depth).unsqueeze(axis)
    off, on = values[0], values[1]
    return torch.where(places == torch.arange(depth).reshape(shape), on, off)


@operator("TopK")
def top_k(node: Node, x: Tensor, _k: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Lowers `TopK`: the largest or smallest elements in order. Of equal elements the first win."""
    (count,) = node.integers(1, "k")
    axis, largest = node.get("axis", -1), bool(node.get("largest", 1))
    keys = x
    if x.dtype == torch.uint64:
        keys = x.to(torch.int64) ^ torch.iinfo(torch.int64).min
    elif x.dtype in (torch.uint16, torch.uint32):
        keys = x.to(torch.int64)
    _, order = torch.sort(keys, dim=axis, descending=largest, stable=True)
    order = order.narrow(axis, 0, count)
    if x.dtype in WIDER:
        wide = torch.gather(x.to(torch.int64), axis, order)
        return wide.to(x.dtype), order
    return torch.gather(x, axis, order), order


@operator("NonZero")
def non_zero(_node: Node, x: Tensor) -> Tensor:
    """Lowers `NonZero`: returns the indices of nonzero elements, (rank, count)."""
    return torch.nonzero(x).t()


@operator("Compress")
def compress(node: Node, x: Tensor, condition: Tensor) -> Tensor:
    """Lowers `Compress`: selects the slices where a condition holds."""
    axis = node.get("axis")
    if axis is None:
        x, axis = x.reshape(-1), 0
    return x.index_select(axis, torch.nonzero(condition).reshape(-1))


@operator("ReverseSequence")
def reverse_sequence(node: Node, x: Tensor, lengths: Tensor) -> Tensor:
    """Lowers `ReverseSequence`: reverses the first `lengths` steps of each sequence."""
    time, batch = node.get("time_axis", 0), node.get("batch_axis", 1)
    steps = torch.arange(x.shape[time])
    steps = steps.unsqueeze(1) if time == 0 else steps.unsqueeze(0)
    counts = lengths.unsqueeze(1 if batch == 0 else 0)
    places = torch.where(steps < counts, counts - 1 - steps, steps)
    places = places.reshape([*places.shape, *[1] * (x.dim() - 2)]).expand(x.shape)
    return torch.gather(x, time, places)


@operator("Unique")
def unique(node: Node, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Lowers `Unique`: returns unique slices, first indices, inverse indices and counts."""
    axis = node.get("axis")
    flat = x.reshape(-1, 1) if axis is None else x.movedim(axis, 0).reshape(x.shape[axis], -1)
    order = torch.arange(flat.shape[0])
    for column in reversed(range(flat.shape[1])):
        keys = flat[:, column].index_select(0, order)
        order = order.index_select(0, torch.sort(keys, stable=True).indices)
    ordered = flat.index_select(0, order)
    is_new = (ordered[1:] != ordered[:-1]).any(1)
    is_new = torch.cat([torch.ones(min(flat.shape[0], 1), dtype=torch.bool), is_new])
    group = torch.cumsum(is_new.to(torch.int64), 0) - 1
    inverse = torch.zeros_like(order).scatter(0, order, group)
    starts = torch.nonzero(is_new).reshape(-1)
    ends = torch.cat([starts[1:], torch.full((1,), flat.shape[0], dtype=torch.int64)])
    counts, first = ends - starts, order.index_select(0, starts)
    if not node.get("sorted", 1):
        by_place = torch.sort(first, stable=True).indices
        first, counts = first.index_select(0, by_place), counts.index_select(0, by_place)
        rank = torch.zeros_like(by_place).scatter(0, by_place, torch.arange(by_place.shape[0]))
        inverse = rank.index_select(0, inverse)
    if axis is None:
        return x.reshape(-1).index_select(0, first), first, inverse, counts
    return x.index_select(axis, first), first, inverse, counts


@operator("Hardmax")
def hardmax(node: Node, x: Tensor) -> Tensor:
    """Lowers `Hardmax`: 1 at the first largest element along an axis, else 0."""
    axis = node.get("axis", -1 if node.opset >= 13 else 1) % x.dim()
    flat = x if node.opset >= 13 else x.reshape([*x.shape[:axis], -1])
    size = flat.shape[axis]
    shape = [-1 if i == axis else 1 for i in range(flat.dim())]
    best = torch.argmax(flat, axis, keepdim=True)
    return (best == torch.arange(size).reshape(shape)).to(x.dtype).reshape(x.shape)
