"""Reads elements from a whole tensor instead of from a slice with strides.

IREE vectorizes reads at computed indices to `vector.gather`. It does not compile a gather from a
slice whose elements are not adjacent along the last axis, such as `x[..., 0]`, `x[:, ::2]`, or some
transposes. This step computes the indices in the tensor that was sliced, and reads from there.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.loops import Size, index, sliced_axes
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.tensor_ops import RESHAPES
from pipelines.ir.values import producer_named
from pipelines.pipeline import Step

_READ, _SLICE, _TRANSPOSE = "tensor.extract", "tensor.extract_slice", "linalg.transpose"
_VIEWS = (_SLICE, _TRANSPOSE, *RESHAPES)


def read_whole_tensors(module: ir.Module) -> None:
    """Makes `tensor.extract` read from tensors instead of their slices. Changes IR in place."""
    with module.context:
        replace_operations(find_operations(module, lambda each: each.name == _READ), _read)


def _read(read: ir.Operation) -> ir.Value | None:
    source, *places = read.operands
    if not _has_strides(source):
        return None
    while (view := _view(source)) is not None:
        source, places = view.operands[0], _places_in_source(view, places)
    return build_op(_READ, read.result.type, source, *map(index, places))


def _has_strides(value: ir.Value) -> bool:
    """Returns whether a value may be a view without adjacent elements along the last axis.

    IREE may compute a transpose as a view.
    """
    while (view := _view(value)) is not None:
        value = view.operands[0]
        if view.name == _TRANSPOSE:
            return True
        if view.name == _SLICE:
            whole = ir.RankedTensorType(value.type).shape[-1]
            last = list(view.attributes["static_sizes"])[-1]
            if set(view.attributes["static_strides"]) != {1} or (last == 1 and whole != 1):
                return True
    return False


def _view(value: ir.Value) -> ir.Operation | None:
    """Returns the operation that computes a value, if it only slices, transposes or reshapes.

    Reshapes that merge or split axes of sizes other than 1 are not among them.
    """
    view = producer_named(value, *_VIEWS)
    if view is None:
        return None
    if view.name in RESHAPES and any(len(axes) > 1 for axes in _long_axes(view)):
        return None
    return view


def _places_in_source(view: ir.Operation, places: Sequence[Size]) -> list[Size]:
    """Returns the indices in the first operand of an element of the result.

    Args:
        places: the indices in the result.
    """
    rank = ir.RankedTensorType(view.operands[0].type).rank
    if view.name == _TRANSPOSE:
        order = list(view.attributes["permutation"])
        return [places[order.index(axis)] for axis in range(rank)]
    if view.name == "tensor.expand_shape":
        return [places[axes[0]] if axes else 0 for axes in _long_axes(view)]
    if view.name == "tensor.collapse_shape":
        given = {
            axes[0]: place for axes, place in zip(_long_axes(view), places, strict=True) if axes
        }
        return [given.get(axis, 0) for axis in range(rank)]
    given = dict(zip(sliced_axes(view), places, strict=True))
    offsets, strides = _mixed(view, "offsets", 1), _mixed(view, "strides", 3)
    return [_affine(given.get(axis, 0), offsets[axis], strides[axis]) for axis in range(rank)]


def _long_axes(reshape: ir.Operation) -> list[list[int]]:
    """Returns, for each group of axes of a reshape, those axes whose size is not 1.

    The groups are of the side with more axes. A dynamic size counts as not 1.
    """
    value = reshape.results[0] if reshape.name == "tensor.expand_shape" else reshape.operands[0]
    shape = ir.RankedTensorType(value.type).shape
    groups = (
        [ir.IntegerAttr(axis).value for axis in ir.ArrayAttr(group)]
        for group in reshape.attributes["reassociation"]
    )
    return [[axis for axis in axes if shape[axis] != 1] for axes in groups]


def _mixed(view: ir.Operation, name: str, group: int) -> list[Size]:
    """Returns the offsets or strides of a slice: numbers, or values if they are dynamic.

    Args:
        group: the number of the operand group.
    """
    counts = list(view.attributes["operandSegmentSizes"])
    first = sum(counts[:group])
    dynamic = iter(list(view.operands)[first : first + counts[group]])
    mark = ir.ShapedType.get_dynamic_size()
    static = view.attributes[f"static_{name}"]
    return [next(dynamic) if number == mark else number for number in static]


def _affine(place: Size, offset: Size, stride: Size) -> Size:
    """Returns `offset + place * stride`."""
    if place == 0:
        return offset
    if stride != 1:
        place = arith.MulIOp(index(place), index(stride)).result
    return place if offset == 0 else arith.AddIOp(index(place), index(offset)).result


READ_WHOLE_TENSORS = Step(
    "iree-read-whole-tensors",
    "read elements from a tensor instead of its slice with strides: IREE does not gather from one",
    read_whole_tensors,
)
