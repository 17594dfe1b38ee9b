"""Finds out which dynamic sizes of the torch dialect are equal."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.torch_operations import is_tensor, number_of, sizes_of
from pipelines.ir.values import producer, producer_named
from unmess.core.module.module import STRICT_SIZES

_PREFIX = "torch.aten."
_LIST = "torch.prim.ListConstruct"
# Operators whose result has the broadcast sizes of their operands.
_ELEMENTWISE = {
    *("where.self", "to.dtype", "neg", "abs", "bitwise_not", "maximum", "minimum"),
    *("logical_and", "logical_or", "logical_not", "isnan", "clone", "contiguous", "cumsum"),
    *("sigmoid", "tanh", "relu", "gelu", "silu", "exp", "log", "sqrt", "rsqrt", "sin", "cos"),
    *(f"{name}.{kind}" for name in ("add", "sub", "mul", "div") for kind in ("Tensor", "Scalar")),
    *(f"{name}.Tensor" for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
    *(
        f"{name}.{kind}"
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
        for kind in ("Tensor", "Scalar")
    ),
}
# Operators that remove an axis, unless they keep it with size 1.
_REMOVING = ("sum.dim_IntList", "max.dim", "min.dim", "any.dim", "all.dim", "squeeze.dim")

# A value, and one of its axes.
Axis = tuple[ir.Value, int]


def has_strict_sizes(operation: ir.Operation | ir.OpView) -> bool:
    """Returns whether elementwise operators broadcast no dynamic sizes, as in captured programs.

    torch.export guarantees it: a dynamic size of an operand is that of the result.
    """
    while operation.operation.name != "func.func":
        operation = operation.parent
    return STRICT_SIZES in operation.attributes


def origin(value: ir.Value, axis: int) -> Axis:
    """Returns the earliest value and its axis whose dynamic size this axis has."""
    while (earlier := _earlier(value, axis)) is not None:
        value, axis = earlier
    return value, axis


def origin_of_size(size: ir.Value) -> Axis | None:
    """Returns the origin of an integer that is the size of a tensor; None for other integers."""
    of = producer_named(size, f"{_PREFIX}size.int")
    if of is None or number_of(of.operands[1]) is None:
        return None
    value = of.operands[0]
    return origin(value, number_of(of.operands[1]) % len(sizes_of(value.type)))


def _earlier(value: ir.Value, axis: int) -> Axis | None:
    operation = producer(value)
    carried = _before_loop(value, operation)
    if carried is not None:
        return carried, axis
    if operation is None or not operation.name.startswith(_PREFIX):
        return None
    name, operands = operation.name.removeprefix(_PREFIX), list(operation.operands)
    rank = len(sizes_of(value.type))
    if name in _ELEMENTWISE:
        found = [
            (operand, axis - rank + len(sizes_of(operand.type)))
            for operand in filter(is_tensor, operands)
        ]
        found = [each for each in found if each[1] >= 0 and sizes_of(each[0].type)[each[1]] is None]
        return found[0] if len(found) == 1 or (found and has_strict_sizes(operation)) else None
    numbers = [number_of(each) for each in operands[1:3]]
    if name == "unsqueeze" and numbers[0] is not None:
        added = numbers[0] % rank
        return None if added == axis else (operands[0], axis - (axis > added))
    if name == "transpose.int" and None not in numbers:
        swapped = [number % rank for number in numbers]
        return operands[0], swapped[1 - swapped.index(axis)] if axis in swapped else axis
    if name == "slice.Tensor" and numbers[0] is not None and numbers[0] % rank != axis:
        return operands[0], axis
    if name == "permute":
        order = producer_named(operands[1], _LIST)
        number = None if order is None else number_of(order.operands[axis])
        return None if number is None else (operands[0], number % rank)
    if name == "cat" and numbers[0] is not None and numbers[0] % rank != axis:
        parts = producer_named(operands[0], _LIST)
        return None if parts is None else (parts.operands[0], axis)
    if name == "index_select" and numbers[0] is not None and numbers[0] % rank != axis:
        return operands[0], axis
    if name in ("mm", "bmm") and axis != rank - 1:
        return operands[0], axis
    if name in ("broadcast_to", "empty.memory_format"):
        return _of_list(operands, value, axis)
    if name in _REMOVING and len(sizes_of(operands[0].type)) == rank + 1:
        axes = producer_named(operands[1], _LIST)
        number = number_of(operands[1] if axes is None else axes.operands[0])
        if number is not None:
            removed = number % (rank + 1)
            return operands[0], axis + (axis >= removed)
    return None


def _before_loop(value: ir.Value, operation: ir.Operation | None) -> ir.Value | None:
    """Returns the first value of one that a loop carries; None for other values.

    The sizes of a carried value are the same in each iteration.
    """
    if operation is None:
        loop = value.owner.owner.operation
        number = ir.BlockArgument(value).arg_number - 1
    else:
        loop, number = operation, ir.OpResult(value).result_number
    if loop.name != "torch.prim.Loop" or number < 0:
        return None
    # The first operands are the number of iterations and the first condition.
    return loop.operands[2 + number]


def _of_list(operands: list[ir.Value], value: ir.Value, axis: int) -> Axis | None:
    """Returns the axis that the list of the result's sizes names."""
    place = 0 if len(operands) > 2 else 1
    if place == 1:
        own = sizes_of(operands[0].type)
        kept = axis - len(sizes_of(value.type)) + len(own)
        if kept >= 0 and own[kept] is None:
            return operands[0], kept
    wanted = producer_named(operands[place], _LIST)
    size = None if wanted is None else producer_named(wanted.operands[axis], f"{_PREFIX}size.int")
    if size is None or number_of(size.operands[1]) is None:
        return None
    x = size.operands[0]
    return x, number_of(size.operands[1]) % len(sizes_of(x.type))
