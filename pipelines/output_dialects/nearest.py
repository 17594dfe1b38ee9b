"""Rewrites nearest interpolation of images for TOSA and StableHLO.

torch-mlir lowers it to linalg only. If a size is multiplied by an integer, each element is
repeated. Otherwise, a constant tensor of indices selects the elements.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import expand, unsqueeze
from pipelines.ir.torch_expressions import select
from pipelines.ir.torch_operations import (
    element_of,
    integer_constant,
    rewrite,
    sizes_of,
    tensor_type,
    value_of,
)
from pipelines.ir.values import producer_named


def rewrite_nearest(module: ir.Module) -> None:
    """Rewrites the interpolations in a module at `torch` that have static sizes.

    Only the batch may have a dynamic size.
    """
    rewrite(module, {"torch.aten.__interpolate.size_list_scale_list": _interpolated})


def _interpolated(interpolation: ir.Operation) -> ir.Value | None:
    x, _, factors, mode, *_ = interpolation.operands
    result = interpolation.result.type
    sizes, targets = sizes_of(x.type), sizes_of(result)
    is_nearest = ir.StringAttr(mode.owner.operation.attributes["value"]).value == "nearest"
    if not is_nearest or None in (*sizes[1:], *targets[1:]):
        return None
    scales = producer_named(factors, "torch.prim.ListConstruct")
    repeats, selected = {}, x
    for place, axis in enumerate(range(2, len(sizes))):
        factor = None if scales is None else value_of(scales.operands[place])
        indices = _source_indices(sizes[axis], targets[axis], factor, element_of(x.type))
        count = targets[axis] // sizes[axis]
        if indices == [index for index in range(sizes[axis]) for _ in range(count)]:
            repeats[axis] = count
        else:
            selected = select(selected, axis, indices)
    return _repeat(selected, repeats)


def _source_indices(size: int, target: int, factor: float | None, element: str) -> list[int]:
    """Returns the index of the element that PyTorch copies to each place of an axis."""
    # Commands that list the steps do not import torch.
    import torch
    from torch.nn.functional import interpolate

    # PyTorch computes the indices in f32, except for f64.
    dtype = torch.float64 if element == "f64" else torch.float32
    numbers = torch.arange(size, dtype=dtype)[None, None]
    if factor is None:
        copied = interpolate(numbers, size=target)
    else:
        copied = interpolate(numbers, scale_factor=factor)
    return copied[0, 0].long().tolist()


def _repeat(x: ir.Value, counts: dict[int, int]) -> ir.Value:
    """Repeats each element along the axes."""
    counts = {axis: count for axis, count in counts.items() if count != 1}
    for axis in sorted(counts, reverse=True):
        x = unsqueeze(x, axis + 1)
    sizes = sizes_of(x.type)
    for number, axis in enumerate(sorted(counts)):
        sizes[axis + 1 + number] = counts[axis]
    x = expand(x, sizes)
    for axis in sorted(counts):
        sizes[axis : axis + 2] = [sizes[axis] * sizes[axis + 1]]
        ends = map(integer_constant, (axis, axis + 1))
        x = build_op("torch.aten.flatten.using_ints", tensor_type(sizes, x.type), x, *ends)
    return x
