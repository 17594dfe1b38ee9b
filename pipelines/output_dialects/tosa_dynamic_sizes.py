"""Lowers operators on tensors with dynamic sizes to TOSA. torch-mlir lowers static ones only.

- `broadcast_to` a size of another tensor becomes a selection that depends on that tensor, since the
  shapes of TOSA are constant, but elementwise operations broadcast.
- `cat` becomes `tosa.concat`.
- `index_select` with one dynamic size, which is not selected from, becomes `tosa.gather`.
- A slice with a step becomes an `index_select`. So does an index of all axes but the dynamic one,
  which torch-mlir indexes by an `arange` of its size. TOSA cannot compute it.
- `gather` along an axis of static size compares each index with each place.
- `index_put` of rows becomes `tosa.scatter`.
- A 1-d convolution becomes a 2-d one.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import build_op, erase_without_users, find_operations
from pipelines.ir.torch_broadcasts import (
    elementwise,
    permute,
    places,
    reduced,
    reshape,
    slice_axis,
    transpose,
    truth,
    unsqueeze,
)
from pipelines.ir.torch_dynamic_sizes import origin, origin_of_size
from pipelines.ir.torch_expressions import literal, select
from pipelines.ir.torch_operations import (
    bounds_of,
    builtin_type,
    element_of,
    from_builtin,
    integer_constant,
    is_float,
    is_number,
    load_dialects,
    number_of,
    rewrite,
    sizes_of,
    tensor_type,
    to_builtin,
    value_of,
)
from pipelines.ir.values import producer_named
from pipelines.output_dialects.indexed_elements import row_number

_BROADCASTS = ("torch.aten.broadcast_to", "torch.aten.expand")
_LIST, _SLICE = "torch.prim.ListConstruct", "torch.aten.slice.Tensor"
_INDEX, _CONVOLUTION = "torch.aten.index.Tensor_hacked_twin", "torch.aten.convolution"
_GATHER, _PUT = "torch.aten.gather", "torch.aten.index_put.hacked_twin"
# The longest axis that `gather` reads.
_LONGEST = 4096
_OPERATORS = {
    *_BROADCASTS,
    *(_SLICE, _INDEX, _GATHER, _PUT, _CONVOLUTION),
    *("torch.aten.cat", "torch.aten.index_select"),
}
# Operations on sizes, and operators that are erased if only their sizes were used.
_ON_SIZES = (
    *_BROADCASTS,
    _LIST,
    "torch.aten.empty.memory_format",
    "torch.aten.size.int",
    "torch.aten.numel",
    "torch.aten.arange.start_step",
    "torch.aten.unsqueeze",
    "torch.aten.to.dtype",
    *(f"torch.aten.{name}.int" for name in ("add", "sub", "mul")),
)


def lower_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place. Operators on static sizes do not change."""
    with module.context:
        if not find_operations(module, _is_dynamic):
            return
    load_dialects(module, "convert-torch-to-tosa")
    rewrite(
        module,
        {
            _SLICE: _slice_with_step,
            _INDEX: _indexed,
            _GATHER: _gathered,
            _PUT: _put,
            _CONVOLUTION: _in_two_dimensions,
        },
    )
    # The operators above compare sizes, which must still name the tensors that they are sizes of.
    rewrite(module, dict.fromkeys(_BROADCASTS, _broadcast))
    rewrite(module, {"torch.aten.cat": _concatenated, "torch.aten.index_select": _selected})
    with module.context:
        erase_without_users(find_operations(module, lambda each: each.name in _ON_SIZES))


def _is_dynamic(operation: ir.Operation) -> bool:
    return operation.name in _OPERATORS and None in sizes_of(operation.results[0].type)


def _broadcast(broadcast: ir.Operation) -> ir.Value | None:
    x, shape = broadcast.operands[:2]
    sizes, element = sizes_of(broadcast.results[0].type), element_of(x.type)
    wanted = producer_named(shape, _LIST)
    if None not in sizes or wanted is None or element.startswith(("ui", "complex")):
        return None
    own = [1] * (len(sizes) - len(sizes_of(x.type))) + sizes_of(x.type)
    fixed = [1 if size is None else size for size in sizes]
    mask = None
    for axis, (size, given) in enumerate(zip(sizes, own, strict=True)):
        if size is not None or given is None:
            continue
        found = _along(wanted.operands[axis], axis, len(sizes))
        if found is None:
            return None
        mask = found if mask is None else truth("logical_or", mask, found)
    if mask is None:
        # Only -0.0 leaves each floating-point number as it is.
        zero = literal(-0.0 if is_float(x.type) else 0, element, fixed)
        return elementwise("logical_or" if element == "i1" else "add.Tensor", x, zero)
    # The condition always holds, but its sizes are those of the result.
    always = truth("logical_or", mask, literal(1, "i1", fixed))
    if element == "i1":
        return truth("logical_and", x, always)
    return elementwise("where.self", always, x, _another(x))


def _another(x: ir.Value) -> ir.Value:
    """Creates a number that `x` does not consist of.

    MLIR replaces a selection between equal constants by one of them, also if it has another size.
    """
    constant = producer_named(x, "torch.vtensor.literal")
    values = None if constant is None else ir.DenseElementsAttr(constant.attributes["value"])
    is_85 = values is not None and values.is_splat and values.get_splat_value().value == 85
    return literal(86 if is_85 else 85, element_of(x.type))


def _along(size: ir.Value, axis: int, rank: int) -> ir.Value | None:
    """Returns booleans of a dynamic size along an axis, and of size 1 along the others.

    Returns None if the size is not that of a tensor whose other sizes are static.
    """
    found = origin_of_size(size)
    if found is None:
        return None
    x, place = found
    sizes = sizes_of(x.type)
    is_alone = sizes[place] is None and sizes.count(None) == 1 and 0 not in sizes
    if not is_alone or element_of(x.type).startswith(("ui", "complex")):
        return None
    for other, length in enumerate(sizes):
        if other != place and length != 1:
            x = slice_axis(x, other, 0, 1)
    x = reshape(x, [None if each == axis else 1 for each in range(rank)])
    return truth("eq.Tensor", x, x)


def _slice_with_step(operation: ir.Operation) -> ir.Value | None:
    x, *numbers = operation.operands
    axis, start, end, step = map(number_of, numbers)
    sizes = sizes_of(x.type)
    if None not in sizes or None in (axis, start, end, step) or step == 1 or sizes[axis] is None:
        return None
    indices = range(sizes[axis])[start:end:step]
    return select(x, axis % len(sizes), indices) if indices else None


def _indexed(operation: ir.Operation) -> ir.Value | None:
    x, indices = operation.operands
    sizes, parts = sizes_of(x.type), producer_named(indices, _LIST)
    if sizes.count(None) != 1 or parts is None or len(parts.operands) != len(sizes):
        return None
    place = sizes.index(None)
    others = [each for axis, each in enumerate(parts.operands) if axis != place]
    result = sizes_of(operation.result.type)
    at = _axis_of_all(parts.operands[place], x, place, len(result))
    if at is None or any(None in sizes_of(each.type) for each in others):
        return None
    # Index the other axes as one: x becomes tensor[n, rows].
    lengths = sizes[:place] + sizes[place + 1 :]
    order = [place, *(axis for axis in range(len(sizes)) if axis != place)]
    rows = reshape(permute(x, order), [None, math.prod(lengths)])
    index = row_number(others, lengths)
    shape = [1] * (len(result) - len(sizes_of(index.type))) + sizes_of(index.type)
    if shape[at] != 1:
        return None
    kept = shape[:at] + shape[at + 1 :]
    found = _selected_from(rows, 1, reshape(index, [math.prod(shape)]))
    back = list(range(1, len(result)))
    back.insert(at, 0)
    return permute(reshape(found, [None, *kept]), back)


def _axis_of_all(index: ir.Value, x: ir.Value, axis: int, rank: int) -> int | None:
    """Returns the axis of the result that an index of all elements along an axis of `x` becomes.

    Returns None for other indices.

    Args:
        rank: the rank of the result.
    """
    sizes = sizes_of(index.type)
    if sizes.count(None) != 1 or any(size not in (1, None) for size in sizes):
        return None
    while (added := producer_named(index, "torch.aten.unsqueeze")) is not None:
        index = added.operands[0]
    numbers = producer_named(index, "torch.aten.arange.start_step")
    if numbers is None:
        return None
    start, end, step = list(numbers.operands)[:3]
    is_counting = number_of(start) == 0 and number_of(step) == 1
    if not is_counting or origin_of_size(end) != origin(x, axis):
        return None
    return rank - len(sizes) + sizes.index(None)


def _gathered(gather: ir.Operation) -> ir.Value | None:
    x, axis, index, _ = gather.operands
    sizes, own, element = sizes_of(x.type), sizes_of(index.type), element_of(x.type)
    if None not in sizes or number_of(axis) is None or not is_number(x.type):
        return None
    place = number_of(axis) % len(sizes)
    count = sizes[place]
    if count is None or own[place] is None or not 0 < count <= _LONGEST:
        return None
    # An index may have fewer rows than the tensor. Comparisons need as many.
    others = [each for each in range(len(sizes)) if each != place]
    dynamic = [each for each in others if sizes[each] is None]
    if any(own[each] != sizes[each] for each in others):
        return None
    if any(origin(x, each) != origin(index, each) for each in dynamic):
        return None
    numbers = places(count, len(sizes) + 1, place + 1)
    mask = truth("eq.Tensor", unsqueeze(index, place + 1), numbers)
    lowest = literal(bounds_of(element)[0], element)
    return reduced("max", elementwise("where.self", mask, unsqueeze(x, place), lowest), place + 1)


def _put(put: ir.Operation) -> ir.Value | None:
    x, indices, values, accumulate = put.operands
    sizes, given, parts = sizes_of(x.type), sizes_of(values.type), producer_named(indices, _LIST)
    if sizes.count(None) != 1 or sizes[0] is None or parts is None or len(parts.operands) != 1:
        return None
    index = parts.operands[0]
    (*others, count) = sizes_of(index.type) or [None]
    if others or count is None or not 0 < count <= sizes[0] or value_of(accumulate):
        return None
    axis = sizes.index(None)
    # The values may be broadcast. TOSA's scatter needs as many as there are elements.
    if given != [count, *sizes[1:]] or origin(values, axis) != origin(x, axis):
        return None
    if 0 in sizes or element_of(x.type).startswith(("ui", "complex")):
        return None
    kind = ir.Type.parse(tensor_type([1, sizes[0], None], x.type))
    operands = (
        to_builtin(reshape(x, [1, sizes[0], None])),
        _narrow_row(row_number([index], sizes[:1])),
        to_builtin(reshape(values, [1, count, None])),
    )
    scattered = build_op("tosa.scatter", builtin_type(kind), *operands)
    return reshape(from_builtin(scattered, kind), sizes)


def _narrow_row(index: ir.Value) -> ir.Value:
    """Returns an index as the row of i32 that TOSA's gather and scatter take."""
    (count,) = sizes_of(index.type)
    row = to_builtin(reshape(index, [1, count]))
    return build_op("tosa.cast", f"tensor<1x{count}xi32>", row)


def _in_two_dimensions(convolution: ir.Operation) -> ir.Value | None:
    x, weight, bias, *options, groups = convolution.operands
    sizes, result = sizes_of(x.type), sizes_of(convolution.result.type)
    if len(sizes) != 3 or sizes[0] is not None or None in sizes[1:]:
        return None
    # The strides, padding, dilations and output padding of an axis of size 1.
    for place, number in ((0, 1), (1, 0), (2, 1), (4, 0)):
        own = producer_named(options[place], _LIST)
        if own is None:
            return None
        numbers = (integer_constant(number), *own.operands)
        options[place] = build_op(_LIST, "!torch.list<int>", *numbers)
    operands = (unsqueeze(x, 2), unsqueeze(weight, 2), bias, *options, groups)
    kind = tensor_type([*result[:2], 1, result[2]], convolution.result.type)
    return reshape(build_op(_CONVOLUTION, kind, *operands), result)


def _concatenated(operation: ir.Operation) -> ir.Value | None:
    kind = operation.results[0].type
    parts = producer_named(operation.operands[0], _LIST)
    axis = number_of(operation.operands[1])
    if None not in sizes_of(kind) or parts is None or axis is None:
        return None
    if any(
        0 in sizes_of(part.type) or element_of(part.type) != element_of(kind)
        for part in parts.operands
    ):
        return None
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), axis % len(sizes_of(kind)))
    joined = build_op(
        "tosa.concat", builtin_type(kind), *map(to_builtin, parts.operands), axis=number
    )
    return from_builtin(joined, kind)


def _selected(operation: ir.Operation) -> ir.Value | None:
    x, axis, index = operation.operands
    sizes, place = sizes_of(x.type), number_of(axis)
    if sizes.count(None) != 1 or 0 in sizes or place is None or sizes[place] is None:
        return None
    if len(sizes_of(index.type)) != 1 or None in sizes_of(index.type):
        return None
    return _selected_from(x, place % len(sizes), index)


def _selected_from(x: ir.Value, place: int, index: ir.Value) -> ir.Value:
    """Selects elements of a tensor with one dynamic size, along an axis of static size."""
    sizes, (count,) = sizes_of(x.type), sizes_of(index.type)
    first = transpose(x, 0, place)
    rest = sizes_of(first.type)[1:]
    rows = reshape(first, [1, sizes[place], None])
    kind = ir.Type.parse(tensor_type([1, count, None], x.type))
    gathered = build_op("tosa.gather", builtin_type(kind), to_builtin(rows), _narrow_row(index))
    return transpose(reshape(from_builtin(gathered, kind), [count, *rest]), 0, place)
