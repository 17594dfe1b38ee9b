"""Sorts by counting, for TOSA and StableHLO.

The place of an element in a sorted row is the number of elements before it. Equal elements keep
their order. NaN counts as larger than any number. TOSA has no sort, and torch-mlir lowers only
short ones to it. It lowers none with dynamic sizes to StableHLO.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_broadcasts import (
    elementwise,
    places_along,
    reduced,
    transpose,
    truth,
    unsqueeze,
)
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    integer_constant,
    is_float,
    is_number,
    number_of,
    rewrite,
    sizes_of,
    value_of,
)

# The longest row that is sorted. The work grows with the square of its length.
_LONGEST = 4096


def sort_all(module: ir.Module) -> None:
    """Rewrites the sorts in a module at `torch`, in place."""
    rewrite(module, {"torch.aten.sort": _sorted})


def sort_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites the sorts of tensors with dynamic sizes in a module at `torch`, in place."""
    rewrite(module, {"torch.aten.sort": _sorted_if_dynamic})


def _sorted_if_dynamic(sort: ir.Operation) -> Sequence[ir.Value] | None:
    return _sorted(sort, True) if None in sizes_of(sort.operands[0].type) else None


def _sorted(sort: ir.Operation, is_dynamic: bool = False) -> Sequence[ir.Value] | None:
    """Returns the sorted values and their indices; None for sorts that do not change.

    Args:
        is_dynamic: also sort rows of dynamic size.
    """
    x, axis, descending = sort.operands
    sizes, number = sizes_of(x.type), number_of(axis)
    if not sizes or number is None:
        return None
    number %= len(sizes)
    is_possible = is_dynamic if sizes[number] is None else 0 < sizes[number] <= _LONGEST
    if not is_possible or not is_number(x.type):
        return None
    last = len(sizes) - 1
    chosen = _chosen(transpose(x, number, last), value_of(descending))
    row = places_along(x, number, last + 2, last + 1)
    order = reduced("sum", elementwise("where.self", chosen, row, literal(0, "si64")), last + 1)
    order = transpose(order, number, last)
    false = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))
    values = build_op("torch.aten.gather", x.type, x, integer_constant(number), order, false)
    return values, order


def _chosen(x: ir.Value, descending: bool) -> ir.Value:
    """Returns for each place of a sorted row whether it has the element, as booleans.

    Args:
        x: tensor[…, n], whose last axis is sorted.

    Returns:
        Tensor[…, places, elements].
    """
    rank = len(sizes_of(x.type))
    mine, other = unsqueeze(x, rank), unsqueeze(x, rank - 1)
    before = truth("gt.Tensor" if descending else "lt.Tensor", other, mine)
    equal = truth("eq.Tensor", other, mine)
    if is_float(x.type):
        other_nan, mine_nan = (truth("ne.Tensor", each, each) for each in (other, mine))
        larger, smaller = (other_nan, mine_nan) if descending else (mine_nan, other_nan)
        is_number = elementwise("logical_not", smaller)
        before = truth("logical_or", before, truth("logical_and", larger, is_number))
        equal = truth("logical_or", equal, truth("logical_and", other_nan, mine_nan))
    column, row = (places_along(x, rank - 1, rank + 1, at) for at in (rank - 1, rank))
    earlier = truth("logical_and", equal, truth("lt.Tensor", row, column))
    place = reduced("sum", cast(truth("logical_or", before, earlier), "si64"), rank)
    return truth("eq.Tensor", unsqueeze(place, rank - 1), column)
