"""Checks that the slices of a loop are in range, and moves its own checks before it."""

from __future__ import annotations

from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, cf
from pipelines.ir.loops import index, size
from pipelines.ir.values import constant_integer, producer, producer_named


@dataclass
class Ranges:
    """The conditions under which the slices of a loop are in range.

    Attributes:
        numbers: values in the loop that equal the number of the step if all checks are true.
        limits: the end of the loop must be at most each of these: numbers before the loop, or the
            numbers of rows of tensors, given as the tensors. Each has the message of its check.
    """

    numbers: set[ir.Value] = field(default_factory=set)
    limits: dict[ir.Value, ir.Attribute] = field(default_factory=dict)

    def check(self, end: ir.Value) -> None:
        """Creates the checks of a loop with this end, at the insertion point."""
        for limit, message in self.limits.items():
            if not isinstance(limit.type, ir.IndexType):
                if is_long_enough(limit, end):
                    continue
                limit = index(size(limit, 0))
            holds = arith.CmpIOp(arith.CmpIPredicate.sle, end, limit).result
            cf.AssertOp(holds, message)


def ranges_of(loop: ir.Operation) -> Ranges | None:
    """Returns the conditions of a loop from 0 in steps of 1; None if they are not known before it.

    Each slice must be static, or the row with the number of the step. Each check must compare that
    number with a size.
    """
    found, block = Ranges(), loop.regions[0].blocks[0]
    number = block.arguments[0]
    operations = [each.operation for each in block.operations]
    messages = {
        each.operands[0]: each.attributes["msg"] for each in operations if each.name == "cf.assert"
    }
    for condition, message in messages.items():
        limits, others = _limits(condition, number)
        if any(each not in limits for each in others):
            return None
        for limit in limits:
            before = _before(limit, block, loop)
            if before is None:
                return None
            found.limits[before] = message
    for each in operations:
        is_checked = each.name == "arith.select" and each.operands[0] in messages
        if is_checked and each.operands[1] == number:
            found.numbers.add(each.result)
    for each in operations:
        first = {"tensor.extract_slice": 0, "tensor.insert_slice": 1}.get(each.name)
        if first is None or len(each.operands) == first + 1:
            continue
        tensor, place, *others = list(each.operands)[first:]
        whole = _before(tensor, block, loop)
        if others or whole is None or not _is_row(each):
            return None
        if place in found.numbers:
            found.limits[whole] = messages[place.owner.operands[0]]
        elif place != number or not is_long_enough(whole, loop.operands[1]):
            return None
    return found


def _limits(condition: ir.Value, number: ir.Value) -> tuple[list[ir.Value], list[ir.Value]]:
    """Returns the limits that the number of a step must be less than for a condition to hold.

    Also returns the other requirements: numbers that must be at least 1, and other conditions. The
    number of the step is never negative, so a limit is always at least 1.
    """
    operation = producer_named(condition, "arith.andi", "arith.cmpi")
    if operation is None:
        return [], [condition]
    left, right = operation.operands
    if operation.name == "arith.andi":
        (limits, others), (more, further) = _limits(left, number), _limits(right, number)
        return [*limits, *more], [*others, *further]
    kind = ir.IntegerAttr(operation.attributes["predicate"]).value
    if left == number and kind == arith.CmpIPredicate.ult:
        return [right], []
    if left == number and kind == arith.CmpIPredicate.sge and constant_integer(right) == 0:
        return [], []
    is_least = kind == arith.CmpIPredicate.uge and constant_integer(right) == 1
    return [], [left if is_least else condition]


def _before(value: ir.Value, block: ir.Block, loop: ir.Operation) -> ir.Value | None:
    """Returns the value before the loop that stands for a value in it; None if there is none.

    For a carried tensor, it is the one that the loop begins with, which has the same sizes. For
    the number of rows of a tensor, it is the tensor.
    """
    operation = producer(value)
    if operation is None:
        if value.owner != block:
            return value
        position = ir.BlockArgument(value).arg_number
        return loop.operands[2 + position] if position else None
    if operation.block != block:
        return value
    if operation.name == "tensor.dim" and constant_integer(operation.operands[1]) == 0:
        return _before(operation.operands[0], block, loop)
    return None


def _is_row(operation: ir.Operation) -> bool:
    """Returns whether a slice is one row at a dynamic index, with static sizes and no strides."""
    offsets, sizes, strides = (
        list(operation.attributes[f"static_{name}"]) for name in ("offsets", "sizes", "strides")
    )
    dynamic = ir.ShapedType.get_dynamic_size()
    return (
        offsets[0] == dynamic
        and sizes[0] == 1
        and set(strides) == {1}
        and dynamic not in (*offsets[1:], *sizes)
    )


def is_long_enough(tensor: ir.Value, end: ir.Value) -> bool:
    """Returns whether a tensor has a row for each number below `end`."""
    kind, rows = ir.RankedTensorType(tensor.type), constant_integer(end)
    return not kind.is_dynamic_dim(0) and rows is not None and kind.shape[0] >= rows
