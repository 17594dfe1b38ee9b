"""Lowers slices of tensors with dynamic sizes to TOSA. torch-mlir lowers static ones only."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.torch_operations import (
    builtin_type,
    from_builtin,
    is_none,
    load_dialects,
    number_of,
    sizes_of,
    to_builtin,
)
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_SLICE = "torch.aten.slice.Tensor"
# The rest of an axis, in `tosa.slice`.
_TO_THE_END = -1


def slice_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites slices along an axis of static size, of tensors with other, dynamic sizes.

    The module is at `torch`. Slices with a step, or from a computed index, do not change.

    Raises:
        Error: stage `tosa`, for a slice to a computed index.
    """
    with module.context:
        for operation in find_operations(module, lambda each: each.name == _SLICE):
            _refuse_computed_end(operation)
        slices = find_operations(module, _is_dynamic)
        if slices:
            load_dialects(module, "convert-torch-to-tosa")
        replace_operations(slices, _sliced)


def _refuse_computed_end(operation: ir.Operation) -> None:
    """Raises an error for a slice that ends the process in torch-mlir's lowering."""
    end = operation.operands[3]
    if number_of(end) is None and not is_none(end):
        raise Error(
            "tosa",
            "no lowering for aten.slice.Tensor to a computed index",
            where=location_line(operation.location),
            hint="slice to a constant index, or try --to linalg",
        )


def _is_dynamic(operation: ir.Operation) -> bool:
    if operation.name != _SLICE:
        return False
    x, axis, *bounds = operation.operands
    sizes = sizes_of(x.type)
    return (
        None in sizes
        and number_of(axis) is not None
        and sizes[number_of(axis)] is not None
        and sizes_of(operation.result.type)[number_of(axis)] is not None
        and all(number_of(each) is not None for each in bounds[:2])
        and number_of(bounds[2]) == 1
    )


def _sliced(operation: ir.Operation) -> ir.Value:
    x, axis, start, *_ = operation.operands
    sizes = sizes_of(operation.result.type)
    axis = number_of(axis) % len(sizes)
    begin = number_of(start)
    length = sizes_of(x.type)[axis]
    starts = [0] * len(sizes)
    starts[axis] = min(max(begin + length if begin < 0 else begin, 0), length)
    ends = [_TO_THE_END if size is None else size for size in sizes]
    kind = builtin_type(operation.result.type)
    sliced = build_op("tosa.slice", kind, to_builtin(x), _shape(starts), _shape(ends))
    return from_builtin(sliced, operation.result.type)


def _shape(sizes: list[int]) -> ir.Value:
    index = ir.IndexType.get()
    kind = ir.RankedTensorType.get([len(sizes)], index)
    numbers = [ir.IntegerAttr.get(index, size) for size in sizes]
    values = ir.DenseElementsAttr.get(numbers, type=kind)
    return build_op("tosa.const_shape", f"!tosa.shape<{len(sizes)}>", values=values)
