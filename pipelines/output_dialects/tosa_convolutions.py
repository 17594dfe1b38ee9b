"""Divides convolutions with groups into convolutions that have a lowering to TOSA.

TOSA has no groups. torch-mlir lowers a convolution with one input channel per group to a depthwise
convolution, and divides one with up to 31 groups. It lowers no other groups, and no transposed
convolution with groups.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import slice_axis
from pipelines.ir.torch_operations import (
    integer_constant,
    is_none,
    number_of,
    rewrite,
    sizes_of,
    tensor_type,
    value_of,
)

# torch-mlir lowers fewer groups.
_UNSUPPORTED_GROUPS = 32


def divide_groups(module: ir.Module) -> None:
    """Rewrites a module at `torch`: one convolution per group, and the concatenated results."""
    rewrite(module, {"torch.aten.convolution": _divided})


def _divided(convolution: ir.Operation) -> ir.Value | None:
    x, weight, bias, *options, count = convolution.operands
    groups = number_of(count)
    channels = sizes_of(x.type)[1]
    if groups is None or groups == 1 or channels is None:
        return None
    # The options are the strides, padding, dilations, whether it is transposed, output padding.
    is_transposed = value_of(options[3])
    if not is_transposed and (groups < _UNSUPPORTED_GROUPS or groups == channels):
        return None
    result = convolution.result.type
    sizes = sizes_of(result)
    outputs = sizes[1] // groups
    kind = tensor_type([sizes[0], outputs, *sizes[2:]], result)
    parts = []
    for group in range(groups):
        own = [
            _part(x, 1, group, groups),
            _part(weight, 0, group, groups),
            bias if is_none(bias) else _part(bias, 0, group, groups),
        ]
        parts.append(build_op(convolution.name, kind, *own, *options, integer_constant(1)))
    several = f"!torch.list<{kind.removeprefix('!torch.')}>"
    listed = build_op("torch.prim.ListConstruct", several, *parts)
    return build_op("torch.aten.cat", result, listed, integer_constant(1))


def _part(value: ir.Value, axis: int, index: int, count: int) -> ir.Value:
    """Returns one of `count` equal slices along an axis of static size."""
    size = sizes_of(value.type)[axis] // count
    return slice_axis(value, axis, index * size, (index + 1) * size)
