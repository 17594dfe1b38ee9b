"""Rewrites operators that torch-mlir lowers to StableHLO incorrectly, or not at all.

- With `ceil_mode`, the last window of a max pooling may start inside the input and end after its
  padding. torch-mlir pads both ends for it, which moves every window.
- `remainder` has the sign of the divisor. torch-mlir's has the sign of the dividend, like `fmod`.
- `x ** 0.5` is the square root, which is NaN for -inf.
- torch-mlir does not lower `flatten` and `unflatten`, with which it decomposes `repeat`, but views.
- torch-mlir does not lower `unfold` and `diagonal`. Constant indices select their elements.
- Negative indices count from the end. torch-mlir's gather reads the first element for them.
- Shifts broadcast their operands. torch-mlir ends the process if their shapes differ, and has no
  lowering for shifts by a number.
"""

from __future__ import annotations

import functools

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import permute
from pipelines.ir.torch_expressions import literal, select
from pipelines.ir.torch_operations import (
    element_of,
    float_constant,
    integer_constant,
    is_float,
    number_of,
    rewrite,
    sizes_of,
    tensor_type,
    value_of,
)
from pipelines.ir.values import producer_named
from pipelines.output_dialects.dynamic_pools import MAX_POOLS, refuse_for_stablehlo
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_SHIFTS = ("torch.aten.bitwise_left_shift.Tensor", "torch.aten.bitwise_right_shift.Tensor")


def rewrite_for_stablehlo(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place, for StableHLO.

    Raises:
        Error: stage `stablehlo`, if a max pooling has windows beyond its input and its indices are
            used: they would be indices of the padded input. Also if the number of windows is
            dynamic and rounded up.
    """
    refuse_for_stablehlo(module)
    remainders = ("torch.aten.remainder.Tensor", "torch.aten.remainder.Scalar")
    rewrite(
        module,
        {
            **dict.fromkeys(MAX_POOLS, _end_with_windows),
            **dict.fromkeys(remainders, _remainder),
            "torch.aten.pow.Tensor_Scalar": _power,
            "torch.aten.flatten.using_ints": _flatten,
            "torch.aten.unflatten.int": _unflatten,
            "torch.aten.unfold": _unfold,
            "torch.aten.diagonal": diagonal,
            "torch.aten.__rshift__.Scalar": shift_by_number,
            "torch.aten.__lshift__.Scalar": shift_by_number,
            **dict.fromkeys(_SHIFTS, _shift_of_same_shapes),
            "torch.aten.index.Tensor": _count_from_the_front,
            "torch.aten.index.Tensor_hacked_twin": _count_from_the_front,
        },
    )


def _remainder(operation: ir.Operation) -> ir.Value:
    """Returns torch-mlir's remainder, plus the divisor if the signs of the two differ."""
    y = operation.operands[1]
    kind = operation.results[0].type
    truths = _truths(kind)
    suffix = operation.name.rpartition(".")[2]
    left = operation.clone().result
    one = integer_constant(1)
    # torch-mlir folds comparisons of constant floats with integers wrongly.
    zero = float_constant(0.0) if is_float(kind) else integer_constant(0)
    if suffix == "Scalar":
        is_other = build_op("torch.aten.lt.Scalar", truths, left, zero)
        if value_of(y) < 0:
            is_other = build_op("torch.aten.gt.Scalar", truths, left, zero)
    else:
        negative = build_op("torch.aten.lt.Scalar", truths, left, zero)
        is_other = build_op(
            "torch.aten.ne.Tensor",
            truths,
            negative,
            build_op("torch.aten.lt.Scalar", _truths(y.type), y, zero),
        )
        nonzero = build_op("torch.aten.ne.Scalar", truths, left, zero)
        is_other = build_op("torch.aten.logical_and", truths, is_other, nonzero)
    more = build_op(f"torch.aten.add.{suffix}", kind, left, y, one)
    return build_op("torch.aten.where.self", kind, is_other, more, left)


def _shift_of_same_shapes(operation: ir.Operation) -> ir.Value | None:
    x, count = operation.operands
    result = operation.results[0].type
    if sizes_of(x.type) == sizes_of(count.type) == sizes_of(result):
        return None
    operands = [_broadcast(x, count, result), _broadcast(count, x, result)]
    return build_op(operation.name, result, *operands)


def shift_by_number(operation: ir.Operation) -> ir.Value | None:
    """Returns integers shifted by a tensor of counts; None for unsigned integers."""
    x, count = operation.operands
    if number_of(count) is None or not element_of(x.type).startswith("si"):
        return None
    direction = "right" if "rshift" in operation.name else "left"
    counts = _broadcast(literal(number_of(count), element_of(x.type)), x, x.type)
    kind = operation.results[0].type
    return build_op(f"torch.aten.bitwise_{direction}_shift.Tensor", kind, x, counts)


def _broadcast(x: ir.Value, other: ir.Value, result: ir.Type) -> ir.Value:
    """Returns integers in the shape of a result, by adding zeros of the other operand's shape."""
    one, zero = integer_constant(1), integer_constant(0)
    zeros = build_op("torch.aten.mul.Scalar", other.type, other, zero)
    kind = f"{str(result).rpartition(',')[0]},{element_of(x.type)}>"
    return build_op("torch.aten.add.Tensor", kind, x, zeros, one)


def _power(operation: ir.Operation) -> ir.Value | None:
    x, exponent = operation.operands
    kind = operation.results[0].type
    if exponent.owner.operation.name != "torch.constant.float" or value_of(exponent) != 0.5:
        return None
    return build_op("torch.aten.sqrt", kind, x)


def _flatten(operation: ir.Operation) -> ir.Value:
    """Returns the view with the sizes of the operand; joined axes have the product of theirs."""
    x, start, _ = operation.operands
    kind = operation.results[0].type
    rank, joined = len(sizes_of(x.type)), sizes_of(kind)
    place = int(value_of(start)) % max(rank, 1)
    count = rank - len(joined) + 1
    sizes = [_size(x, axis) for axis in range(rank)]
    total = joined[place]
    sizes[place : place + count] = [
        _product(sizes[place : place + count]) if total is None else integer_constant(total)
    ]
    return _view(x, kind, sizes)


def _product(numbers: list[ir.Value]) -> ir.Value:
    return functools.reduce(
        lambda x, y: build_op("torch.aten.mul.int", "!torch.int", x, y), numbers
    )


def _unflatten(operation: ir.Operation) -> ir.Value | None:
    """Returns the view with the sizes of the operand, except for the axis that is split."""
    x, axis, parts = operation.operands
    split = producer_named(parts, "torch.prim.ListConstruct")
    if split is None:
        return None
    rank = len(sizes_of(x.type))
    place = int(value_of(axis)) % rank
    sizes = [_size(x, each) for each in range(rank)]
    sizes[place : place + 1] = split.operands
    return _view(x, operation.results[0].type, sizes)


def _unfold(operation: ir.Operation) -> ir.Value | None:
    """Returns the windows of an axis of static size; their elements are the last axis."""
    x, dimension, width, step = operation.operands
    sizes = sizes_of(x.type)
    result = operation.results[0].type
    if not sizes or None in (number_of(dimension), number_of(width), number_of(step)):
        return None
    axis = int(value_of(dimension)) % len(sizes)
    count, length = sizes_of(result)[axis], int(value_of(width))
    if None in (sizes[axis], count):
        return None
    places = [number * int(value_of(step)) + at for number in range(count) for at in range(length)]
    chosen = select(x, axis, places)
    counts = [_size(x, each) for each in range(len(sizes))]
    counts[axis : axis + 1] = [integer_constant(count), integer_constant(length)]
    sizes[axis : axis + 1] = [count, length]
    windows = _view(chosen, ir.Type.parse(tensor_type(sizes, x.type)), counts)
    order = [each for each in range(len(sizes)) if each != axis + 1] + [axis + 1]
    return permute(windows, order)


def diagonal(operation: ir.Operation) -> ir.Value | None:
    """Returns a diagonal of two axes of static size; its elements are the last axis."""
    x, *numbers = operation.operands
    sizes, result = sizes_of(x.type), operation.results[0].type
    offset, *axes = map(number_of, numbers)
    if None in (offset, *axes) or not sizes_of(result)[-1]:
        return None
    rows, columns = (axis % len(sizes) for axis in axes)
    if None in (sizes[rows], sizes[columns]):
        return None
    others = [axis for axis in range(len(sizes)) if axis not in (rows, columns)]
    counts = [*(_size(x, axis) for axis in others), integer_constant(sizes[rows] * sizes[columns])]
    kind = tensor_type([*(sizes[axis] for axis in others), sizes[rows] * sizes[columns]], x.type)
    flat = _view(permute(x, [*others, rows, columns]), ir.Type.parse(kind), counts)
    first = offset if offset >= 0 else -offset * sizes[columns]
    step = sizes[columns] + 1
    return select(flat, len(others), [first + step * at for at in range(sizes_of(result)[-1])])


def _size(x: ir.Value, axis: int) -> ir.Value:
    size = sizes_of(x.type)[axis]
    if size is not None:
        return integer_constant(size)
    return build_op("torch.aten.size.int", "!torch.int", x, integer_constant(axis))


def _view(x: ir.Value, kind: ir.Type, sizes: list[ir.Value]) -> ir.Value:
    shape = build_op("torch.prim.ListConstruct", "!torch.list<int>", *sizes)
    return build_op("torch.aten.view", kind, x, shape)


def _count_from_the_front(operation: ir.Operation) -> None:
    """Adds the size of the axis to each negative index."""
    x, indices = operation.operands
    zero, one = integer_constant(0), integer_constant(1)
    found = list(indices.owner.operation.operands)
    for axis, index in enumerate(found):
        if not str(index.type).endswith("si64>"):
            continue
        size = sizes_of(x.type)[axis]
        length = (
            build_op("torch.aten.size.int", "!torch.int", x, integer_constant(axis))
            if size is None
            else integer_constant(size)
        )
        negative = build_op("torch.aten.lt.Scalar", _truths(index.type), index, zero)
        moved = build_op("torch.aten.add.Scalar", index.type, index, length, one)
        found[axis] = build_op("torch.aten.where.self", index.type, negative, moved, index)
    operation.operands[1] = build_op("torch.prim.ListConstruct", indices.type, *found)


def _end_with_windows(pool: ir.Operation) -> None:
    """Pads the input of a max pooling with `ceil_mode` at the end, and disables `ceil_mode`."""
    if not value_of(pool.operands[5]):
        return
    axes = MAX_POOLS[pool.name]
    x, result = pool.operands[0], pool.results[0]
    sizes, counts = sizes_of(x.type)[-axes:], sizes_of(result.type)[-axes:]
    if None in (*sizes, *counts):
        return
    kernel, stride, padding, dilation = (
        _list(operand, axes) for operand in list(pool.operands)[1:5]
    )
    missing = [
        (count - 1) * (step or width) + (width - 1) * spread + 1 - size - 2 * margin
        for size, count, width, step, margin, spread in zip(
            sizes, counts, kernel, stride or kernel, padding, dilation, strict=True
        )
    ]
    more = [max(length, 0) for length in missing]
    if any(more) and len(pool.results) > 1 and list(pool.results[1].uses):
        raise Error(
            "stablehlo",
            f"{pool.name.removeprefix('torch.')} with ceil_mode has windows beyond its "
            "input, which StableHLO cannot express",
            where=location_line(pool.location),
            hint="pad the input in the model, or try --to linalg",
        )
    if any(more):
        pool.operands[0] = _padded(x, more)
    pool.operands[5] = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))


def _padded(x: ir.Value, more: list[int]) -> ir.Value:
    """Pads the last axes at the end with the smallest value of the dtype."""
    element = element_of(x.type)
    if element.startswith("si"):
        lowest = integer_constant(-(2 ** (int(element[2:]) - 1)))
    elif element.startswith("ui"):
        lowest = integer_constant(0)
    else:
        value = ir.FloatAttr.get(ir.F64Type.get(), float("-inf"))
        lowest = build_op("torch.constant.float", "!torch.float", value=value)
    ends = [integer_constant(each) for length in reversed(more) for each in (0, length)]
    pads = build_op("torch.prim.ListConstruct", "!torch.list<int>", *ends)
    sizes = sizes_of(x.type)
    ended = sizes[: -len(more)]
    ended += [size + length for size, length in zip(sizes[-len(more) :], more, strict=True)]
    return build_op("torch.aten.constant_pad_nd", tensor_type(ended, x.type), x, pads, lowest)


def _list(value: ir.Value, length: int) -> list[float]:
    """Returns the values of a list of constants. Repeats a single element for all axes."""
    found = [value_of(element) for element in value.owner.operation.operands]
    return found * length if len(found) == 1 else found


def _truths(kind: ir.Type) -> str:
    """Returns the tensor type of booleans of the same shape."""
    return f"{str(kind).rpartition(',')[0]},i1>"
