"""Lowerings of operators that move elements: shapes, axes, slices, padding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from importers.onnx.node import Node
from importers.onnx.registry import operator
from importers.onnx.value import known_array, numbers_of

Tensor = torch.Tensor


@operator("Constant")
def constant(node: Node) -> Any:
    """Lowers `Constant`."""
    # Imported here to save start-up time: every capture imports this file, and few need onnx.
    import onnx

    (attribute,) = node.proto.attribute
    value = onnx.helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return known_array(onnx.numpy_helper.to_array(value))
    if isinstance(value, (bytes, onnx.SparseTensorProto)) or attribute.name == "value_strings":
        raise node.refuse(f"with {attribute.name}")
    kind = np.float32 if attribute.name.startswith("value_float") else np.int64
    return known_array(np.array(value, kind))


@operator("OptionalGetElement")
def optional_get_element(_node: Node, x: Tensor) -> Tensor:
    """Lowers `OptionalGetElement`: returns the tensor."""
    return x


@operator("OptionalHasElement")
def optional_has_element(node: Node, *_x: Tensor) -> Any:
    """Lowers `OptionalHasElement`: returns True if a tensor is given."""
    return known_array(np.array(node.has(0)))


@operator("ConstantOfShape")
def constant_of_shape(node: Node, _shape: Tensor) -> Tensor:
    """Lowers `ConstantOfShape`: one value everywhere, a float 0 by default."""
    value = node.get("value")
    if value is None:
        return torch.zeros(node.integers(0))
    return (
        value.reshape(()).expand(node.integers(0)).clone()
        if value.dtype not in _FULL
        else (torch.full(node.integers(0), numbers_of(value)[0], dtype=value.dtype))
    )


_FULL = frozenset({torch.float32, torch.float64, torch.int64, torch.int32, torch.bool, torch.uint8})


@operator("Shape")
def shape(node: Node, x: Tensor) -> np.ndarray:
    """Lowers `Shape`: returns the sizes, or a slice of them."""
    sizes = list(x.shape)[node.get("start", 0) : node.get("end")]
    found = np.empty(len(sizes), dtype=object)
    found[:] = sizes
    return found


@operator("Size")
def size(_node: Node, x: Tensor) -> np.ndarray:
    """Lowers `Size`: returns the number of elements."""
    found = np.empty((), dtype=object)
    found[()] = math.prod(x.shape)
    return found


@operator("Reshape")
def reshape(node: Node, x: Tensor, _shape: Tensor | None = None) -> Tensor:
    """Lowers `Reshape`. A size of 0 keeps the input's size, unless `allowzero` is set."""
    sizes = node.integers(1, "shape")
    if not node.get("allowzero", 0):
        sizes = [
            x.shape[i] if isinstance(size, int) and size == 0 else size
            for i, size in enumerate(sizes)
        ]
    return torch.reshape(x, sizes)


@operator("Flatten")
def flatten(node: Node, x: Tensor) -> Tensor:
    """Lowers `Flatten`: reshapes to two dimensions, split at the axis."""
    axis = node.get("axis", 1)
    axis += x.dim() if axis < 0 else 0
    return torch.reshape(x, [math.prod(x.shape[:axis]), math.prod(x.shape[axis:])])


@operator("Squeeze")
def squeeze(node: Node, x: Tensor, _axes: Tensor | None = None) -> Tensor:
    """Lowers `Squeeze`: removes dimensions of size 1."""
    axes = node.integers(1, "axes")
    return torch.squeeze(x) if axes is None else torch.squeeze(x, tuple(axes))


@operator("Unsqueeze")
def unsqueeze(node: Node, x: Tensor, _axes: Tensor | None = None) -> Tensor:
    """Lowers `Unsqueeze`: inserts dimensions of size 1 at these axes of the result."""
    axes = node.integers(1, "axes")
    for axis in sorted(axis % (x.dim() + len(axes)) for axis in axes):
        x = x.unsqueeze(axis)
    return x


@operator("Transpose")
def transpose(node: Node, x: Tensor) -> Tensor:
    """Lowers `Transpose`: permutes the axes, by default reverses them."""
    return x.permute(node.get("perm") or list(reversed(range(x.dim()))))


@operator("Concat")
def concat(node: Node, *xs: Tensor) -> Tensor:
    """Lowers `Concat`."""
    return torch.cat(xs, node.get("axis", 1))


@operator("Split")
def split(node: Node, x: Tensor, _sizes: Tensor | None = None) -> tuple[Tensor, ...]:
    """Lowers `Split`, into given sizes or equal parts. The last equal part may be smaller."""
    axis = node.get("axis", 0)
    sizes = node.integers(1, "split")
    if sizes is None:
        count = node.get("num_outputs", len(node.proto.output))
        each = -(-x.shape[axis] // count)
        sizes = [each] * (count - 1)
        sizes.append(x.shape[axis] - each * (count - 1))
    return torch.split(x, sizes, axis)


@operator("Expand")
def expand(node: Node, x: Tensor, _shape: Tensor) -> Tensor:
    """Lowers `Expand`: broadcasts the tensor and the shape against each other."""
    return x.expand(torch.broadcast_shapes(x.shape, tuple(node.integers(1))))


@operator("Tile")
def tile(node: Node, x: Tensor, _repeats: Tensor) -> Tensor:
    """Lowers `Tile`: repeats the tensor along each axis."""
    return x.repeat(node.integers(1))


@operator("Slice")
def slice_(node: Node, x: Tensor, *_bounds: Tensor | None) -> Tensor:
    """Lowers `Slice`, with positive and negative steps."""
    starts, ends = node.integers(1, "starts"), node.integers(2, "ends")
    axes = node.integers(3, "axes") or list(range(len(starts)))
    steps = node.integers(4) or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        axis = axis % x.dim()
        if step > 0:
            x = torch.ops.aten.slice.Tensor(x, axis, start, end, step)
        else:
            x = _backwards(node, x, axis, start, end, step)
    return x


def _backwards(node: Node, x: Tensor, axis: int, start: int, end: int, step: int) -> Tensor:
    count = x.shape[axis]
    if isinstance(count, int):
        places = range(*slice(start, _end_of(end, count), step).indices(count))
        if not places:
            return x.narrow(axis, 0, 0)
        part = x.narrow(axis, places[-1], places[0] - places[-1] + 1).flip(axis)
        return torch.ops.aten.slice.Tensor(part, axis, 0, None, -step)
    if start == -1 and end < -(2**31):
        return torch.ops.aten.slice.Tensor(x.flip(axis), axis, 0, None, -step)
    raise node.refuse("with a negative step along a dynamic dimension")


def _end_of(end: int, count: int) -> int | None:
    """Converts the end of a backward slice from ONNX to Python: None if it is before the start."""
    return None if end < -count else end


@operator("Pad")
def pad(node: Node, x: Tensor, *_options: Tensor | None) -> Tensor:
    """Lowers `Pad` in the modes `constant`, `edge`, `reflect` and `wrap`."""
    pads = node.integers(1, "pads")
    axes = node.integers(3) or list(range(x.dim()))
    count = len(axes)
    amounts = {axis % x.dim(): (pads[i], pads[i + count]) for i, axis in enumerate(axes)}
    mode = node.get("mode", "constant")
    if mode == "constant":
        return _padded(node, x, amounts)
    for axis, (before, after) in amounts.items():
        if (before, after) != (0, 0):
            x = x.index_select(axis, _places(x.shape[axis], before, after, mode))
    return x


def _padded(node: Node, x: Tensor, amounts: dict[int, tuple[int, int]]) -> Tensor:
    widths = [n for axis in reversed(range(x.dim())) for n in amounts.get(axis, (0, 0))]
    if not node.has(2):
        return F.pad(x, widths, value=node.get("value", 0))
    value = node.values[2]
    if value.known:
        (number,) = node.numbers(2)
        return (
            F.pad(x, widths, value=number)
            if number or not x.is_floating_point()
            else F.pad(x, widths)
        )
    inside = F.pad(torch.ones_like(x, dtype=torch.bool), widths)
    return torch.where(inside, F.pad(x, widths), value.tensor().reshape(()))


def _places(size: int, before: int, after: int, mode: str) -> Tensor:
    """Returns the source index of each element of a padded axis."""
    places = torch.arange(-before, size + after)
    if mode == "edge":
        return places.clamp(0, size - 1)
    if mode == "wrap":
        return torch.remainder(places, size)
    period = 2 * (size - 1)
    if isinstance(size, int) and size == 1:
        return torch.zeros_like(places)
    places = torch.remainder(places, period)
    return torch.where(places >= size, period - places, places)


@operator("DepthToSpace")
def depth_to_space(node: Node, x: Tensor) -> Tensor:
    """Lowers `DepthToSpace`: moves blocks of channels to blocks of pixels."""
    n, c, h, w = x.shape
    block = node.get("blocksize")
    depth = c // (block * block)
    if node.get("mode", "DCR") == "DCR":
        parts = x.reshape(n, block, block, depth, h, w).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = x.reshape(n, depth, block, block, h, w).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, depth, h * block, w * block)


@operator("SpaceToDepth")
def space_to_depth(node: Node, x: Tensor) -> Tensor:
    """Lowers `SpaceToDepth`: moves blocks of pixels to blocks of channels."""
    n, c, h, w = x.shape
    block = node.get("blocksize")
    parts = x.reshape(n, c, h // block, block, w // block, block)
    if node.get("mode", "DCR") == "DCR":
        parts = parts.permute(0, 3, 5, 1, 2, 4)
    else:
        parts = parts.permute(0, 1, 3, 5, 2, 4)
    return parts.reshape(n, c * block * block, h // block, w // block)


@operator("Col2Im")
def col2im(node: Node, x: Tensor, _image: Tensor, _block: Tensor) -> Tensor:
    """Lowers `Col2Im`: adds up blocks where they overlap."""
    image, block = node.integers(1), node.integers(2)
    rank = len(image)
    strides = node.get("strides") or [1] * rank
    dilations = node.get("dilations") or [1] * rank
    pads = node.get("pads") or [0] * (2 * rank)
    padded = [n + pads[i] + pads[i + rank] for i, n in enumerate(image)]
    counts = [
        (padded[i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(rank)
    ]
    place = torch.zeros((1,) * (2 * rank), dtype=torch.int64)
    for i in range(rank):
        inside = (torch.arange(block[i]) * dilations[i]).reshape(
            [-1 if j == i else 1 for j in range(2 * rank)]
        )
        origin = (torch.arange(counts[i]) * strides[i]).reshape(
            [-1 if j == rank + i else 1 for j in range(2 * rank)]
        )
        place = place * padded[i] + inside + origin
    n, channels = x.shape[0], x.shape[1] // math.prod(block)
    result = torch.zeros((n, channels, math.prod(padded)), dtype=x.dtype)
    result = result.index_add(2, place.flatten(), x.reshape(n, channels, -1))
    result = result.reshape(n, channels, *padded)
    for i in range(rank):
        result = result.narrow(2 + i, pads[i], image[i])
    return result


@operator("Trilu")
def trilu(node: Node, x: Tensor, _k: Tensor | None = None) -> Tensor:
    """Lowers `Trilu`: the upper or lower triangle of matrices."""
    k = node.number(1, 0)
    return torch.triu(x, k) if node.get("upper", 1) else torch.tril(x, k)


@operator("Range")
def range_(node: Node, start: Tensor, _limit: Tensor, _delta: Tensor) -> Tensor:
    """Lowers `Range`."""
    first, limit, delta = (node.number(i) for i in range(3))
    if not start.is_floating_point():
        return torch.arange(first, limit, delta, dtype=start.dtype)
    count = max(math.ceil((limit - first) / delta), 0)
    steps = torch.arange(count, dtype=torch.float64)
    return (first + steps * delta).to(start.dtype)


@operator("TensorScatter")
def tensor_scatter(
    node: Node, cache: Tensor, update: Tensor, indices: Tensor | None = None
) -> Tensor:
    """Lowers `TensorScatter`: writes to an axis of a cache, from an index per batch element."""
    axis = node.get("axis", -2) % cache.dim()
    length = update.shape[axis]
    starts = torch.zeros(cache.shape[0], dtype=torch.int64) if indices is None else indices
    places = starts.unsqueeze(1) + torch.arange(length)
    if node.get("mode", "linear") == "circular":
        places = torch.remainder(places, cache.shape[axis])
    wide = [cache.shape[0] if i == 0 else length if i == axis else 1 for i in range(cache.dim())]
    return cache.scatter(axis, places.reshape(wide).expand(update.shape), update)
