"""Replaces sorts by loops: merge sorts, and selections if few elements are needed.

Threads share the rows of large sorts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, scf
from pipelines.ir.loops import Size, Slice, index
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.ir.tensor_ops import sizes_of
from pipelines.upstream.row_elements import axis_of
from pipelines.upstream.selection import (
    empty_selected,
    places_read,
    read_selected,
    select_rows,
)
from pipelines.upstream.sort import merge_rows, rewrite_sort, scratch_rows

# The least number of elements of a sort that threads share, and of a selection.
_LARGE_SORT, _LARGE_SELECTION = 1 << 13, 1 << 16
# The most parts that threads share.
_MOST_PARTS = 32

# Computes parts of tensors from these parts and the place where they begin.
_Compute = Callable[[list[ir.Value], list[Size]], Sequence[ir.Value]]


def sort_rows(module: ir.Module) -> None:
    """Rewrites `tm_tensor.sort` in place."""
    with module.context:
        sorts = find_operations(module, lambda each: each.name == "tm_tensor.sort")
        replace_operations(sorts, _rewrite)


def _rewrite(sort: ir.Operation) -> list[ir.Value]:
    count = places_read(sort)
    cut = _cut(sort, _LARGE_SORT if count is None else _LARGE_SELECTION)
    if cut is None:
        return rewrite_sort(sort)
    operands = list(sort.operands)
    if count is not None:

        def select(targets: list[ir.Value], first: list[Size]) -> Sequence[ir.Value]:
            return select_rows(sort, operands, targets, count, first)

        read_selected(sort, _in_parts(empty_selected(sort, count), *cut, select))
        return operands

    def merge(parts: list[ir.Value], _first: list[Size]) -> Sequence[ir.Value]:
        scratch = scratch_rows(sort, sizes_of(parts[0])[axis_of(sort)])
        return merge_rows(sort, parts, scratch)[: len(parts)]

    return _in_parts(operands, *cut, merge)


def _cut(sort: ir.Operation, least: int) -> tuple[int, int] | None:
    """Returns the axis along which threads share the rows of a sort, and the number of parts.

    Returns None for a sort of fewer than `least` elements, and if no axis has equal parts.
    """
    shape, axis = ir.RankedTensorType(sort.operands[0].type).shape, axis_of(sort)
    sizes = {
        each: size for each, size in enumerate(shape) if size != ir.ShapedType.get_dynamic_size()
    }
    # A dynamic size is assumed to be large.
    if len(sizes) == len(shape) and math.prod(shape) < least:
        return None
    choices = [
        (parts, -each)
        for each, size in sizes.items()
        for parts in range(2, _MOST_PARTS + 1)
        if each != axis and size % parts == 0
    ]
    if not choices:
        return None
    parts, each = max(choices)
    return -each, parts


def _in_parts(
    wholes: Sequence[ir.Value], axis: int, parts: int, compute: _Compute
) -> list[ir.Value]:
    """Creates a parallel loop that computes equal parts of tensors along an axis."""
    length = ir.RankedTensorType(wholes[0].type).shape[axis] // parts
    loop = scf.ForallOp([0], [parts], [1], list(wholes))
    with ir.InsertionPoint(loop.body):
        first = arith.MulIOp(loop.induction_variables[0], index(length)).result
        whole = Slice.at(wholes[0], {})
        offsets, sizes = list(whole.offsets), list(whole.sizes)
        offsets[axis], sizes[axis] = first, length
        place = Slice(tuple(offsets), tuple(sizes), whole.kept)
        computed = compute([place.take(each) for each in loop.inner_iter_args], offsets)
        end = scf.InParallelOp()
    with ir.InsertionPoint(end.region.blocks[0]):
        for part, shared in zip(computed, loop.inner_iter_args, strict=True):
            place.put_in_parallel(part, shared)
    return list(loop.results)
