"""Lowers a sort whose readers need few elements of each row to a selection of these elements.

The loops keep the first elements of the sorted row in order. Most of the other elements are only
compared with the last one of them. A sort for `torch.topk` takes n log n comparisons and moves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.lazy_dialects import arith, scf, tensor
from pipelines.ir.loops import Size, Slice, index, repeat, repeat_each, size
from pipelines.ir.scalars import Index, element, is_elementwise
from pipelines.ir.tensor_ops import empty, sizes_of
from pipelines.ir.values import constant_integer, producer
from pipelines.upstream.row_elements import (
    are_in_order,
    as_number,
    axis_of,
    elements_at,
    least,
    put_at,
)

# The largest number of elements that is selected, and the largest one for each step of a merge sort
# of the row. In the worst case, each element of the row is in front of the selected ones, and moves
# all of them. It then takes 1.1 ns for each selected element. A step of a merge sort takes 3.2 ns.
_MOST, _FOR_EACH_STEP = 64, 10 / 3
_UNKNOWN = ir.ShapedType.get_dynamic_size


def places_read(sort: ir.Operation) -> int | None:
    """Returns how many of the first elements of each sorted row the program reads, if few.

    Returns None if it reads many, or an unknown number.
    """
    axis = axis_of(sort)
    shape = ir.RankedTensorType(sort.operands[0].type).shape
    length = shape[axis]
    ends = [_end(each.owner, axis) for result in sort.results for each in result.uses]
    ends = [end for end in ends if end != 0]
    if not ends or None in ends or 0 in shape:
        return None
    # IREE does not compile loops over rows of one element ("does not dominate this use").
    most = max(*ends, 2)
    limit = min(_MOST, _FOR_EACH_STEP * (length - 1).bit_length())
    if length == _UNKNOWN():
        limit = _MOST
    elif length == most:
        return None
    return most if most <= limit else None


def _end(reader: ir.Operation, axis: int) -> int | None:
    """Returns the end of the part of an axis that an operation reads. Returns None if unknown.

    An operation that reads the size of a tensor reads no part of it.
    """
    if reader.name == "tensor.dim":
        return 0
    if reader.name != "tensor.extract_slice":
        return None
    offsets, sizes, strides = (
        tuple(reader.attributes[f"static_{each}"]) for each in ("offsets", "sizes", "strides")
    )
    offset: int | None = offsets[axis]
    if offset == _UNKNOWN():
        position = 1 + sum(each == _UNKNOWN() for each in offsets[:axis])
        offset = _most(reader.operands[position])
    if offset is None or _UNKNOWN() in (sizes[axis], strides[axis]):
        return None
    return offset + (sizes[axis] - 1) * strides[axis] + 1


def _most(value: ir.Value) -> int | None:
    """Returns an upper bound of an integer, or None."""
    number = constant_integer(value)
    owner = producer(value)
    if number is not None or owner is None:
        return number
    if owner.name == "arith.index_cast":
        return _most(owner.operands[0])
    if owner.name == "arith.select":
        bounds = [_most(each) for each in owner.operands[1:]]
        return None if None in bounds else max(bounds)
    if owner.name == "arith.minsi":
        return min((n for n in map(_most, owner.operands) if n is not None), default=None)
    return None


def read_selected(sort: ir.Operation, selected: Sequence[ir.Value]) -> None:
    """Lets the readers of the results of a sort read the selected elements instead."""
    for operand, result, first in zip(sort.operands, sort.results, selected, strict=True):
        for use in list(result.uses):
            is_size = use.owner.name == "tensor.dim"
            use.owner.operands[use.operand_number] = operand if is_size else first


def empty_selected(sort: ir.Operation, count: int) -> list[ir.Value]:
    """Creates a tensor for the first `count` elements of each row of each operand of a sort.

    Rows of dynamic size may be shorter. The rest of the tensor is then undefined. Programs check
    that their slices are in range.
    """
    sizes = sizes_of(sort.operands[0])
    sizes[axis_of(sort)] = count
    return [empty(sizes, ir.RankedTensorType(each.type).element_type) for each in sort.operands]


def is_computed_from_indices(operand: ir.Value) -> bool:
    """Returns whether each element of a tensor depends on its indices only."""
    owner = producer(operand)
    return is_elementwise(owner) and len(owner.operands) == 1


def select_rows(
    sort: ir.Operation,
    operands: Sequence[ir.Value],
    targets: Sequence[ir.Value],
    count: int,
    first: Sequence[Size],
) -> list[ir.Value]:
    """Creates the loops that select the first elements of each sorted row.

    Args:
        operands: the operands of the sort, or tensors with the same elements.
        targets: the tensors for the selected elements, or slices of them.
        count: the number of elements to select, if a row has as many.
        first: the place of the first row of the targets in the operands.

    Returns:
        The targets with the selected elements.
    """
    axis, body = axis_of(sort), sort.regions[0].blocks[0]
    length, ends = size(operands[0], axis), sizes_of(targets[0])
    others = [each for each in range(len(ends)) if each != axis]

    def select_row(places: list[ir.Value], *wholes: ir.Value) -> list[ir.Value]:
        at = dict(zip(others, places, strict=True))
        part = Slice.at(wholes[0], at)
        known = [arith.AddIOp(index(first[each]), at[each]).result for each in others]

        def read(place: ir.Value) -> list[ir.Value]:
            return [_element(each, [*known[:axis], place, *known[axis:]]) for each in operands]

        rows = _select([part.take(whole) for whole in wholes], read, length, count, body)
        return [part.put(row, whole) for row, whole in zip(rows, wholes, strict=True)]

    return repeat_each([ends[each] for each in others], targets, select_row)


def _element(operand: ir.Value, places: Sequence[ir.Value]) -> ir.Value:
    if not is_computed_from_indices(operand):
        return tensor.ExtractOp(operand, places).result
    loops = [Index.of_loop(axis) for axis in range(len(places))]
    return element(operand, loops, lambda *_: None, lambda each: places[each.loop])


def _select(
    rows: Sequence[ir.Value],
    read: Callable[[ir.Value], list[ir.Value]],
    length: Size,
    count: int,
    body: ir.Block,
) -> list[ir.Value]:
    """Selects the first elements of a sorted row.

    Args:
        rows: the 1-D rows for these elements.
        read: creates the elements at a place of the row that is not sorted.
    """
    last = index(count - 1)

    def append(place: ir.Value, *rows: ir.Value) -> list[ir.Value]:
        return _insert(rows, read(place), place, count, body)

    def replace_last(place: ir.Value, *rows: ir.Value) -> list[ir.Value]:
        elements = read(place)
        stays = are_in_order(body, elements_at(rows, last), elements)
        chosen = scf.IfOp((~stays).value, [row.type for row in rows], has_else=True)
        with ir.InsertionPoint(chosen.then_block):
            scf.YieldOp(_insert(rows, elements, last, count, body))
        with ir.InsertionPoint(chosen.else_block):
            scf.YieldOp(list(rows))
        return list(chosen.results)

    full = least(length, count)
    return repeat(full, length, 1, repeat(0, full, 1, rows, append), replace_last)


def _insert(
    rows: Sequence[ir.Value],
    elements: Sequence[ir.Value],
    last: ir.Value,
    count: int,
    body: ir.Block,
) -> list[ir.Value]:
    """Inserts elements into the sorted rows [0, last), of at most `count` elements.

    Equal elements stay in front of them. Those behind them move to the next place.
    """
    place = _place(rows, elements, last, count, body)

    def move(step: ir.Value, *rows: ir.Value) -> list[ir.Value]:
        target = arith.SubIOp(last, step).result
        return put_at(rows, elements_at(rows, arith.SubIOp(target, index(1)).result), target)

    rows = repeat(0, arith.SubIOp(last, place).result, 1, rows, move)
    return put_at(rows, elements, place)


def _place(
    rows: Sequence[ir.Value],
    elements: Sequence[ir.Value],
    last: ir.Value,
    count: int,
    body: ir.Block,
) -> ir.Value:
    """Searches the number of elements of the sorted rows [0, last) that stay in front of others.

    Decides one bit of the number after the other, from the highest one on.
    """
    highest = (count - 1).bit_length() - 1

    def decide(step: ir.Value, known: ir.Value) -> list[ir.Value]:
        bit = Scalar(index(highest)) - Scalar(step)
        wanted = Scalar(known) + (Scalar(index(1)) << bit)
        # Read an element of the rows in any case.
        before = Scalar(arith.MinSIOp(wanted.value, last).result) - 1
        before = arith.MaxSIOp(before.value, index(0)).result
        stays = are_in_order(body, elements_at(rows, before), elements)
        is_set = stays & (wanted <= Scalar(last))
        return [(Scalar(known) + (as_number(is_set) << bit)).value]

    return repeat(0, highest + 1, 1, [index(0)], decide)[0]
