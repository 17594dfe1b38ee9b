"""Combines indexed elements by comparing indices, for TOSA and StableHLO.

TOSA's scatter only replaces elements, and each index may occur once. StableHLO's scatter reduces,
but torch-mlir does not lower `scatter_reduce` to it. Here, each element of the result selects the
values whose index is its own place, and reduces them. The work is the size of the result times the
number of indices.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import (
    elementwise,
    expand,
    places,
    reduced,
    reshape,
    slice_axis,
    truth,
    unsqueeze,
)
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    bounds_of,
    element_of,
    integer_constant,
    is_number,
    number_of,
    rewrite,
    sizes_of,
    value_of,
)
from pipelines.ir.values import producer_named

# The maximum number of values that are selected from: elements of the result times indices.
_MOST = 1 << 28


def combine_indexed_elements(module: ir.Module) -> None:
    """Rewrites `scatter_add`, `scatter_reduce` and `index_put` in a module at `torch`, in place.

    `index_put` without accumulation is rewritten only if there are more indices than elements.
    Tensors of dynamic sizes, booleans, bytes and complex numbers do not change.
    """
    rewrite(
        module,
        {
            "torch.aten.scatter_add": _scatter_add,
            "torch.aten.scatter_reduce.two": _scatter_reduce,
            "torch.aten.index_put.hacked_twin": _index_put,
        },
    )


def rewrite_scatter_reduce(module: ir.Module) -> None:
    """Rewrites `scatter_reduce` in a module at `torch`, in place."""
    rewrite(module, {"torch.aten.scatter_reduce.two": _scatter_reduce})


def _scatter_add(scatter: ir.Operation) -> ir.Value | None:
    return _scattered(*scatter.operands, "sum", include_self=True)


def _scatter_reduce(scatter: ir.Operation) -> ir.Value | None:
    *tensors, reduction, include_self = scatter.operands
    name = ir.StringAttr(reduction.owner.operation.attributes["value"]).value
    return _scattered(*tensors, name, include_self=value_of(include_self))


def _scattered(
    x: ir.Value, axis: ir.Value, index: ir.Value, source: ir.Value, name: str, include_self: bool
) -> ir.Value | None:
    sizes, own = sizes_of(x.type), sizes_of(index.type)
    if None in (*sizes, *own, *sizes_of(source.type)) or not sizes or number_of(axis) is None:
        return None
    place = number_of(axis) % len(sizes)
    # Indices may cover only the first elements of the other axes.
    is_covered = sizes[:place] + sizes[place + 1 :] == own[:place] + own[place + 1 :]
    if not is_covered or not _is_possible(x, own[place]):
        return None
    for each, size in enumerate(own):
        if sizes_of(source.type)[each] != size:
            source = slice_axis(source, each, 0, size)
    return _reduced(x, place, index, source, name, include_self)


def _index_put(put: ir.Operation) -> ir.Value | None:
    x, indices, values, accumulate = put.operands
    parts = producer_named(indices, "torch.prim.ListConstruct")
    sizes = sizes_of(x.type)
    if parts is None or None in sizes:
        return None
    if any(None in sizes_of(each.type) for each in (*parts.operands, values)):
        return None
    leading, rest = sizes[: len(parts.operands)], sizes[len(parts.operands) :]
    rows, width = math.prod(leading), math.prod(rest)
    index = row_number(list(parts.operands), leading)
    shape = sizes_of(index.type)
    count = math.prod(shape)
    if not (value_of(accumulate) or count > rows) or not _is_possible(x, count):
        return None
    index = reshape(index, [count, 1])
    values = reshape(expand(values, [*shape, *rest]), [count, width])
    x = reshape(x, [rows, width])
    if value_of(accumulate):
        result = _reduced(x, 0, index, values, "sum", include_self=True)
    else:
        result = _replaced(x, index, values)
    return reshape(result, sizes)


def row_number(indices: Sequence[ir.Value], sizes: Sequence[int]) -> ir.Value:
    """Returns the number of a row, from its indices along the leading axes of these sizes."""
    row = None
    for index, size in zip(indices, sizes, strict=True):
        count = literal(size, "si64")
        is_negative = truth("lt.Tensor", index, literal(0, "si64"))
        from_end = elementwise("add.Tensor", index, count)
        index = elementwise("where.self", is_negative, from_end, index)
        if row is not None:
            index = elementwise("add.Tensor", elementwise("mul.Tensor", row, count), index)
        row = index
    return row


def _is_possible(x: ir.Value, indices: int) -> bool:
    """Returns whether values can be selected for each element of `x` by this number of indices."""
    return is_number(x.type) and 0 < math.prod(sizes_of(x.type)) * indices <= _MOST


def _reduced(
    x: ir.Value, axis: int, index: ir.Value, values: ir.Value, name: str, include_self: bool
) -> ir.Value:
    """Reduces the values that each element of `x` selects.

    Args:
        index, values: their sizes along `axis` are the number of indices. Other axes of the index
            may have size 1.
        name: `sum`, `mean`, `prod`, `amax` or `amin`.
        include_self: whether the element of `x` is one of the values. An element that selects no
            value does not change.
    """
    element, last = element_of(x.type), axis + 1
    own = places(sizes_of(x.type)[axis], len(sizes_of(x.type)) + 1, axis)
    mask = truth("eq.Tensor", unsqueeze(index, axis), own)
    lowest, largest = bounds_of(element)
    operator, reduction, neutral = {
        "sum": ("add.Tensor", "sum", 0),
        "mean": ("add.Tensor", "sum", 0),
        "prod": ("mul.Tensor", "prod", 1),
        "amax": ("maximum", "max", lowest),
        "amin": ("minimum", "min", largest),
    }[name]
    values = elementwise("where.self", mask, unsqueeze(values, axis), literal(neutral, element))
    result = reduced(reduction, values, last)
    if include_self:
        result = elementwise(operator, x, result)
    if include_self and name != "mean":
        return result
    count = reduced("sum", cast(mask, "si64"), last)
    is_selected = truth("gt.Tensor", count, literal(0, "si64"))
    if name == "mean":
        if include_self:
            count = elementwise("add.Tensor", count, literal(1, "si64"))
        result = elementwise("div.Tensor", result, cast(count, element))
    return elementwise("where.self", is_selected, result, x)


def _replaced(x: ir.Value, index: ir.Value, values: ir.Value) -> ir.Value:
    """Replaces rows of `x`. Of several values for a row, the last one stays, as in eager.

    Args:
        x: [rows, width].
        index: [count, 1].
        values: [count, width].
    """
    rows, count = sizes_of(x.type)[0], sizes_of(index.type)[0]
    mask = truth("eq.Tensor", reshape(index, [1, count]), places(rows, 2, 0))
    numbers = elementwise("where.self", mask, places(count, 2, 1), literal(-1, "si64"))
    latest = reduced("max", numbers, 1)
    is_written = truth("ge.Tensor", latest, literal(0, "si64"))
    latest = elementwise("maximum", latest, literal(0, "si64"))
    chosen = build_op("torch.aten.index_select", x.type, values, integer_constant(0), latest)
    return elementwise("where.self", unsqueeze(is_written, 1), chosen, x)
