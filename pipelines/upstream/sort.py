"""Lowers `tm_tensor.sort` to loops: a stable bottom-up merge sort of each row."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.expressions import Scalar, select
from pipelines.ir.lazy_dialects import arith, math, tensor
from pipelines.ir.loops import Size, Slice, index, repeat, repeat_each, size
from pipelines.upstream.row_elements import (
    are_in_order,
    as_number,
    axis_of,
    elements_at,
    least,
    put_at,
)
from pipelines.upstream.selection import (
    empty_selected,
    places_read,
    read_selected,
    select_rows,
)


def rewrite_sort(sort: ir.Operation) -> list[ir.Value]:
    """Creates the sorted operands, all permuted alike.

    The body returns whether two neighbors are in order. It must return true for equal elements, as
    torch-mlir's bodies do, so that the sort is stable.
    """
    operands = list(sort.operands)
    count = places_read(sort)
    if count is not None:
        first = [0] * ir.RankedTensorType(operands[0].type).rank
        targets = empty_selected(sort, count)
        read_selected(sort, select_rows(sort, operands, targets, count, first))
        return operands
    scratch = scratch_rows(sort, size(operands[0], axis_of(sort)))
    return merge_rows(sort, operands, scratch)[: len(operands)]


def scratch_rows(sort: ir.Operation, length: Size) -> list[ir.Value]:
    """Creates an uninitialized row of this length for each operand of a sort."""
    return [
        tensor.EmptyOp([length], ir.RankedTensorType(operand.type).element_type).result
        for operand in sort.operands
    ]


def merge_rows(
    sort: ir.Operation, tensors: Sequence[ir.Value], scratch: Sequence[ir.Value]
) -> list[ir.Value]:
    """Creates the loops that sort each row of the tensors in place.

    Args:
        tensors: the operands of the sort, or copies of them.
        scratch: a row for each of them, which the loops overwrite.

    Returns:
        The sorted tensors, then the scratch rows.
    """
    axis = axis_of(sort)
    body = sort.regions[0].blocks[0]
    shape = ir.RankedTensorType(tensors[0].type).shape
    # MLIR rejects a slice of a tensor without elements.
    if shape[axis] == 1 or 0 in shape:
        return [*tensors, *scratch]
    rank, length, count = len(shape), size(tensors[0], axis), len(tensors)
    others = [other for other in range(rank) if other != axis]

    def sort_row(places: list[ir.Value], *carried: ir.Value) -> list[ir.Value]:
        wholes, scratch = carried[:count], carried[count:]
        here = dict(zip(others, places, strict=True))
        part = Slice(
            tuple(here.get(each, 0) for each in range(rank)),
            tuple(length if each == axis else 1 for each in range(rank)),
            (axis,),
        )
        rows = [part.take(whole) for whole in wholes]
        rows, scratch = _sort_rows(rows, scratch, length, body)
        sorted_ = [part.put(row, whole) for row, whole in zip(rows, wholes, strict=True)]
        return [*sorted_, *scratch]

    return repeat_each(
        [size(tensors[0], other) for other in others], [*tensors, *scratch], sort_row
    )


def _sort_rows(
    rows: Sequence[ir.Value], scratch: Sequence[ir.Value], length: Size, body: ir.Block
) -> tuple[list[ir.Value], list[ir.Value]]:
    """Sorts 1-D rows together: merges runs of 1, 2, 4, … elements.

    Returns:
        The sorted rows, and the scratch rows.
    """
    count = len(rows)

    def merge_twice(step: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        # Merge to the scratch rows and back, so the result is always in the rows' own memory.
        rows, scratch = carried[:count], carried[count:]
        width = arith.ShLIOp(index(1), step).result
        wider = arith.ShLIOp(width, index(1)).result
        merged = merge_runs(rows, scratch, width)
        return [*merge_runs(merged, rows, wider), *merged]

    def merge_runs(
        rows: Sequence[ir.Value], merged: Sequence[ir.Value], width: ir.Value
    ) -> list[ir.Value]:
        both = arith.ShLIOp(width, index(1)).result

        def merge_two(low: ir.Value, *merged: ir.Value) -> list[ir.Value]:
            middle = least(arith.AddIOp(low, width).result, length)
            high = least(arith.AddIOp(low, both).result, length)
            is_equal = Scalar(arith.AddIOp(low, both).result) <= Scalar(index(length))
            equal = select(is_equal, Scalar(width), Scalar(index(0))).value
            merged = _merge_equal(rows, low, middle, equal, body, merged)
            rest = select(is_equal, Scalar(high), Scalar(low)).value
            return _merge(rows, rest, middle, high, length, body, merged)

        return repeat(0, length, both, merged, merge_two)

    both = repeat(0, _steps(length), 2, [*rows, *scratch], merge_twice)
    return both[:count], both[count:]


def _merge(
    rows: Sequence[ir.Value],
    low: ir.Value,
    middle: ir.Value,
    high: ir.Value,
    length: Size,
    body: ir.Block,
    merged: Sequence[ir.Value],
) -> list[ir.Value]:
    """Merges the runs [low, middle) and [middle, high) of the rows into [low, high) of `merged`.

    When one run is at its end, an element inside the row is still read for it, but not taken.
    """
    last = arith.SubIOp(index(length), index(1)).result

    def take_one(
        place: ir.Value, left: ir.Value, right: ir.Value, *merged: ir.Value
    ) -> list[ir.Value]:
        at_left, at_right = least(left, last), least(right, last)
        stays = are_in_order(body, elements_at(rows, at_left), elements_at(rows, at_right))
        left, right = Scalar(left), Scalar(right)
        has_left, no_right = left < Scalar(middle), right >= Scalar(high)
        takes_left = no_right | (has_left & stays)
        taken = select(takes_left, Scalar(at_left), Scalar(at_right))
        left, right = select(takes_left, left + 1, left), select(takes_left, right, right + 1)
        return [left.value, right.value, *put_at(merged, elements_at(rows, taken.value), place)]

    return repeat(low, high, 1, [low, middle, *merged], take_one)[2:]


def _merge_equal(
    rows: Sequence[ir.Value],
    low: ir.Value,
    middle: ir.Value,
    width: ir.Value,
    body: ir.Block,
    merged: Sequence[ir.Value],
) -> list[ir.Value]:
    """Merges two runs of `width` elements, [low, middle) and the one behind it.

    Takes `width` elements from the front of the runs, and as many from their ends. No run ends
    before. The processor does both at the same time.
    """
    one = index(1)
    last = arith.SubIOp(arith.AddIOp(middle, width).result, one).result

    def in_order(left: Scalar, right: Scalar) -> Scalar:
        return are_in_order(body, elements_at(rows, left.value), elements_at(rows, right.value))

    def take_two(step: ir.Value, *carried: ir.Value) -> list[ir.Value]:
        left, left_end, merged = Scalar(carried[0]), Scalar(carried[1]), carried[2:]
        front, back = Scalar(low) + Scalar(step), Scalar(last) - Scalar(step)
        # As many elements are left of `front` as the runs have left of `left` and `right`.
        right = front + Scalar(middle) - left
        right_end = back + Scalar(middle) - left_end - 1
        stays = in_order(left, right)
        is_last = ~in_order(left_end, right_end)
        lowest = elements_at(rows, _lower(stays, left, right).value)
        highest = elements_at(rows, _lower(is_last, left_end, right_end).value)
        merged = put_at(put_at(merged, lowest, front.value), highest, back.value)
        # Processors predict branches on random elements wrongly, so add numbers instead.
        left, left_end = left + as_number(stays), left_end - as_number(is_last)
        return [left.value, left_end.value, *merged]

    left_end = arith.SubIOp(middle, one).result
    return repeat(0, width, 1, [low, left_end, *merged], take_two)[2:]


def _lower(condition: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Returns `low` if the condition holds, else `high`, without a branch.

    LLVM would turn a selection into a branch, and also masks and products, but not shifts.
    """
    half = as_number(condition) << 5
    return low + ((high - low) >> half >> half)


def _steps(length: Size) -> Size:
    """Returns how often runs double until one spans the row: the bit length of `length - 1`."""
    if not isinstance(length, ir.Value):
        return max(length - 1, 0).bit_length()
    number = ir.IntegerType.get_signless(64)
    last = arith.SubIOp(arith.MaxSIOp(length, index(1)).result, index(1)).result
    zeros = math.CountLeadingZerosOp(arith.IndexCastOp(number, last).result).result
    bits = arith.ConstantOp(number, 64).result
    return arith.IndexCastOp(ir.IndexType.get(), arith.SubIOp(bits, zeros).result).result
