"""Splits long sums of floating-point numbers into sums of partial sums.

The rounding error of a sum in order grows with the number of terms: a sum of 3 million sevens in
f32 is wrong by 3 %. Eager adds in blocks. A split sum has an error like eager's, and its partial
sums can be computed in parallel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps, loop_sizes
from pipelines.ir.generics import generic, inline
from pipelines.ir.loops import Slice, size
from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.tensor_ops import reshaped, sizes_of, zeros
from pipelines.ir.values import producer_named, terminator
from pipelines.pipeline import Step

# Sums of at most this many terms are not split.
_LIMIT = 4096
# In a sum that is split, at most this many terms are added in order.
_CHAIN = 256
# The number of terms of a block, where an axis is split into blocks.
_BLOCK = 128


def split_long_sums(module: ir.Module) -> None:
    """Rewrites the sums of a module at `linalg` in place."""
    with module.context:
        pending = find_operations(module, lambda operation: _is_long_sum(operation, _LIMIT))
        while pending:
            operation = pending.pop()
            with ir.InsertionPoint(operation), operation.location:
                created, total = _split(operation)
            operation.results[0].replace_all_uses_with(total)
            operation.erase()
            pending += [each for each in created if _is_long_sum(each, _CHAIN)]


def _is_long_sum(operation: ir.Operation, limit: int) -> bool:
    """Returns whether an operation adds more than `limit` elements of an input that it reads once.

    Contractions read their inputs several times, and stay as they are. So does the sum of a
    softmax, which eager adds in order, too: its steps are fused row by row.
    """
    if operation.name != "linalg.generic" or len(operation.results) != 1:
        return False
    if _yields(operation.operands[0], "math.exp") and _yields(
        operation.operands[0].owner.operation.operands[0], "arith.subf"
    ):
        return False
    sizes = [loop_sizes(operation)[loop] for loop in _summed(operation)]
    if not sizes or None in sizes or prod(sizes) <= limit or _uses_index(operation):
        return False
    *inputs, _ = (_loops(each) for each in indexing_maps(operation))
    loops = len(loop_sizes(operation))
    reads_once = any(each is not None and len(set(each)) == loops for each in inputs)
    return reads_once and None not in inputs and _adds(operation)


def _yields(value: ir.Value, name: str) -> bool:
    """Returns whether `value` is the result of a `linalg.generic` that yields operation `name`."""
    source = producer_named(value, "linalg.generic")
    if source is None:
        return False
    yielded = terminator(source.regions[0].blocks[0]).operands[0]
    return producer_named(yielded, name) is not None


def _adds(operation: ir.Operation) -> bool:
    body = operation.regions[0].blocks[0]
    total = body.arguments[len(body.arguments) - 1]
    addition = producer_named(terminator(body).operands[0], "arith.addf")
    return addition is not None and len(list(total.uses)) == 1 and total in list(addition.operands)


def _uses_index(operation: ir.Operation) -> bool:
    return any(each.operation.name == "linalg.index" for each in operation.regions[0].blocks[0])


def _summed(operation: ir.Operation) -> list[int]:
    """Returns the loops of a `linalg.generic` that are reductions."""
    kinds = operation.attributes["iterator_types"]
    return [loop for loop, kind in enumerate(kinds) if "reduction" in str(kind)]


def _loops(indexing: ir.AffineMap) -> list[int] | None:
    """Returns the loop that indexes each axis of an operand, or None if an index is computed."""
    if not all(isinstance(each, ir.AffineDimExpr) for each in indexing.results):
        return None
    return [ir.AffineDimExpr(each).position for each in indexing.results]


def _split(operation: ir.Operation) -> tuple[list[ir.Operation], ir.Value]:
    """Creates the parts of a long sum at the insertion point.

    Returns:
        The created operations that add, and the sum.
    """
    sizes = loop_sizes(operation)
    summed = sorted(_summed(operation), key=lambda loop: sizes[loop])
    longest = summed[-1]
    if sizes[longest] > _CHAIN:
        return _split_axis(operation, longest, sizes[longest])
    # Partial sums for as many short loops as needed, so that at most `_CHAIN` terms are left.
    outer: list[int] = []
    while prod(sizes[loop] for loop in summed[len(outer) :]) > _CHAIN:
        outer.append(summed[len(outer)])
    *inputs, start = operation.operands
    *maps, out = indexing_maps(operation)
    axes = [_loops(each) for each in maps]
    return _in_two(operation, inputs, axes, start, list(out.results), len(sizes), outer)


def _split_axis(
    operation: ir.Operation, axis: int, length: int
) -> tuple[list[ir.Operation], ir.Value]:
    """Adds the sums of the blocks of one loop, and then the elements that fill no block."""
    block = next((size for size in range(_BLOCK, _BLOCK // 4, -1) if length % size == 0), _BLOCK)
    blocks = length // block
    *operands, start = operation.operands
    *maps, out = indexing_maps(operation)
    axes = [_loops(each) for each in maps]
    inputs = [
        _in_blocks(value, loops, axis, blocks, block)
        for value, loops in zip(operands, axes, strict=True)
    ]
    # The loop over the blocks comes before the one over the elements of a block.
    renamed = [[new for loop in loops for new in _renamed(loop, axis)] for loops in axes]
    results = [
        each if loop is None else ir.AffineExpr.get_dim(_renamed(loop.position, axis)[0])
        for each, loop in zip(out.results, map(_dimension, out.results), strict=True)
    ]
    created, total = _in_two(
        operation, inputs, renamed, start, results, len(loop_sizes(operation)) + 1, [axis]
    )
    if blocks * block < length:
        left_over = [
            _part(value, loops, axis, blocks * block, length)
            for value, loops in zip(operands, axes, strict=True)
        ]
        rest = operation.clone().operation
        for index, value in enumerate((*left_over, total)):
            rest.operands[index] = value
        created, total = [*created, rest], rest.results[0]
    return created, total


def _renamed(loop: int, axis: int) -> list[int]:
    """Returns the loops that replace one, if the loop `axis` becomes two."""
    return [axis, axis + 1] if loop == axis else [loop + (loop > axis)]


def _part(value: ir.Value, loops: list[int], axis: int, start: int, end: int) -> ir.Value:
    """Returns the elements of an input from `start` to `end` of a loop."""
    if axis not in loops or size(value, loops.index(axis)) == end - start:
        return value
    offsets = tuple(start if loop == axis else 0 for loop in loops)
    sizes = tuple(
        end - start if loop == axis else size(value, place) for place, loop in enumerate(loops)
    )
    return Slice(offsets, sizes, tuple(range(len(loops)))).take(value)


def _in_blocks(value: ir.Value, loops: list[int], axis: int, blocks: int, block: int) -> ir.Value:
    """Splits the axis of a loop into two, for blocks. Drops the elements that fill no block."""
    if axis not in loops:
        return value
    value = _part(value, loops, axis, 0, blocks * block)
    place = loops.index(axis)
    sizes = sizes_of(value)
    groups = [
        [each + (each > place)] if each != place else [each, each + 1] for each in range(len(sizes))
    ]
    return reshaped(
        "tensor.expand_shape", value, [*sizes[:place], blocks, block, *sizes[place + 1 :]], groups
    )


def _in_two(
    operation: ir.Operation,
    inputs: Sequence[ir.Value],
    axes: Sequence[Sequence[int]],
    start: ir.Value,
    results: Sequence[ir.AffineExpr],
    loops: int,
    outer: Iterable[int],
) -> tuple[list[ir.Operation], ir.Value]:
    """Creates partial sums for some loops, and their sum.

    Args:
        operation: the sum whose body is copied.
        inputs, axes: its inputs, and the loops that index them.
        start: the tensor that the sum is added to.
        results: the loops that index `start`.
        loops: the number of loops.
        outer: the reductions to compute partial sums for.
    """
    kept = [each.position for each in map(_dimension, results) if each is not None]
    places = sorted({*kept, *outer})
    body = operation.regions[0].blocks[0]
    element = ir.RankedTensorType(start.type).element_type
    whole = next(each for each in zip(inputs, axes, strict=True) if len(set(each[1])) == loops)
    sizes = [size(whole[0], whole[1].index(loop)) for loop in places]
    kinds = ["parallel" if loop in places else "reduction" for loop in range(loops)]
    (partial,) = generic(
        inputs,
        [zeros(sizes, element)],
        [*axes, places],
        kinds,
        lambda *elements: inline(body, elements),
    )
    renumbered = [
        each if dimension is None else ir.AffineExpr.get_dim(places.index(dimension.position))
        for each, dimension in zip(results, map(_dimension, results), strict=True)
    ]
    (total,) = generic(
        [partial],
        [start],
        [list(range(len(places))), renumbered],
        ["parallel" if loop in kept else "reduction" for loop in places],
        lambda term, total: [build_op("arith.addf", element, term, total)],
    )
    return [partial.owner.operation, total.owner.operation], total


def _dimension(expression: ir.AffineExpr) -> ir.AffineDimExpr | None:
    """Returns the loop of an index that is a loop; None for a constant (an axis of size 1)."""
    is_loop = isinstance(expression, ir.AffineDimExpr)
    return ir.AffineDimExpr(expression) if is_loop else None


LONG_SUMS = Step(
    "split-long-sums",
    "add partial sums: a long sum in order has a large rounding error",
    split_long_sums,
)
