"""Creates uninitialized tensors with static and dynamic sizes."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import tensor
from pipelines.ir.loops import Size, size


def empty_like(x: ir.Value, element: ir.Type) -> ir.Value:
    """Creates a `tensor.empty` with the sizes of `x`."""
    return empty([size(x, axis) for axis in range(ir.RankedTensorType(x.type).rank)], element)


def empty(sizes: Sequence[Size], element: ir.Type) -> ir.Value:
    """Creates a `tensor.empty`; a size is a number, or a value of type index."""
    return tensor.EmptyOp(list(sizes), element).result
