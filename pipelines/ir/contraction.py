"""Recognizes a `linalg.generic` that sums products, and classifies its dimensions."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.values import constant_integer, producer_named


@dataclass(frozen=True)
class Contraction:
    """`out += lhs * rhs`, summed over the dimensions that `out` lacks.

    A dimension is a position in the loops of the generic operation. Every list is in loop order.
    `column` is the innermost dimension of `out`. `rhs` is the operand that it indexes. `lhs` has
    one value for a whole vector of columns.

    Attributes:
        sizes: of the loops; `None` if dynamic.
        batch: parallel dimensions of both operands.
        rows: parallel dimensions of `lhs` only.
        columns: parallel dimensions of `rhs` only; `column` is one of them.
        depth: the dimensions that are summed over.
        lhs, rhs: positions among the operands.
        windows: whether `rhs` is indexed by sums of dimensions, as in a convolution.
    """

    sizes: tuple[int | None, ...]
    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    depth: tuple[int, ...]
    column: int
    lhs: int
    rhs: int
    windows: bool

    def extent(self, dimensions: tuple[int, ...]) -> float:
        """Returns the product of the sizes of these dimensions; infinity if one is dynamic."""
        return math.prod(
            math.inf if self.sizes[dimension] is None else self.sizes[dimension]
            for dimension in dimensions
        )


def find_contraction(generic: ir.Operation) -> Contraction | None:
    """Returns the contraction that a `linalg.generic` computes, or None.

    It accumulates in f32 or f64, and its operands may be narrower floats; or all are i32.
    """
    maps = indexing_maps(generic)
    if len(maps) != 3 or not _multiplies_and_adds(generic):
        return None
    return _classified(maps, loop_sizes(generic))


def find_byte_contraction(generic: ir.Operation) -> tuple[Contraction, tuple[int, int]] | None:
    """Returns the contraction of signed bytes that a `linalg.generic` computes, or None.

    It accumulates `(lhs - zero point) * (rhs - zero point)` in i32, like `linalg.quantized_matmul`,
    with constant zero points.

    Returns:
        The contraction, and the zero points of `lhs` and `rhs`.
    """
    *inputs, out = indexing_maps(generic)
    zeros = None if len(inputs) < 2 else _zero_points(generic)
    if zeros is None or any(each.results for each in inputs[2:]):
        return None
    found = _classified([*inputs[:2], out], loop_sizes(generic))
    return None if found is None else (found, (zeros[found.lhs], zeros[found.rhs]))


def _zero_points(generic: ir.Operation) -> tuple[int, int] | None:
    """Returns the zero points of the first two operands, or None for another operation."""
    block = generic.regions[0].blocks[0]
    arguments, total = list(block.arguments), block.arguments[-1]
    names = {"arith.extsi", "arith.subi", "arith.muli", "arith.addi", "linalg.yield"}
    if not names.issuperset(each.operation.name for each in block.operations):
        return None
    added = producer_named(block.operations[-1].operands[0], "arith.addi")
    if added is None or total not in list(added.operands):
        return None
    products = [producer_named(each, "arith.muli") for each in added.operands if each != total]
    if len(products) != 1 or products[0] is None:
        return None
    found: dict[int, int] = {}
    for factor in products[0].operands:
        zero: int | None = 0
        if (difference := producer_named(factor, "arith.subi")) is not None:
            factor, point = difference.operands
            if point in arguments:
                point = generic.operands[arguments.index(point)]
            zero = constant_integer(point)
        widened = producer_named(factor, "arith.extsi")
        if widened is None or zero is None or widened.operands[0] not in arguments[:2]:
            return None
        if [str(value.type) for value in (widened.operands[0], factor)] != ["i8", "i32"]:
            return None
        found[arguments.index(widened.operands[0])] = zero
    return (found[0], found[1]) if len(found) == 2 else None


def _classified(maps: list[ir.AffineMap], sizes: tuple[int | None, ...]) -> Contraction | None:
    """Returns the contraction of two operands; the last map is that of the result."""
    used = [_dimensions(indexing) for indexing in maps]
    lhs, rhs, out = used
    if any(dimensions is None for dimensions in used) or not maps[2].results:
        return None
    if not all(isinstance(each, ir.AffineDimExpr) for each in maps[2].results):
        return None
    column = ir.AffineDimExpr(list(maps[2].results)[-1]).position
    if (column in lhs) == (column in rhs):
        return None
    left, right = (0, 1) if column in rhs else (1, 0)
    windows = [not _is_projection(indexing) for indexing in maps]
    if windows[left]:
        return None
    lhs, rhs = used[left], used[right]
    everything = range(maps[0].n_dims)
    if any(dimension not in lhs | rhs for dimension in everything):
        return None
    return Contraction(
        sizes=sizes,
        batch=tuple(d for d in everything if d in lhs and d in rhs and d in out),
        rows=tuple(d for d in everything if d in lhs and d not in rhs and d in out),
        columns=tuple(d for d in everything if d not in lhs and d in rhs and d in out),
        depth=tuple(d for d in everything if d not in out),
        column=column,
        lhs=left,
        rhs=right,
        windows=windows[right],
    )


def indexing_maps(generic: ir.Operation) -> list[ir.AffineMap]:
    """Returns each operand's map from loops to elements."""
    return [ir.AffineMapAttr(attribute).value for attribute in generic.attributes["indexing_maps"]]


def pixel_loops(found: Contraction, out: ir.AffineMap) -> list[int]:
    """Returns the loops over the pixels of an image, with the innermost one first.

    Args:
        found: a convolution.
        out: the map of its result.
    """
    axes = [ir.AffineDimExpr(each).position for each in reversed(out.results)]
    return list(itertools.takewhile(lambda each: each in found.columns, axes))


def loop_sizes(generic: ir.Operation) -> tuple[int | None, ...]:
    """Returns the range of each loop of a linalg operation; `None` if it is dynamic or unknown."""
    maps = indexing_maps(generic)
    sizes: list[int | None] = [None] * maps[0].n_dims
    for operand, indexing in zip(generic.operands, maps, strict=True):
        if not indexing.results:
            # A tensor of rank 0, or a scalar, which has no shape.
            continue
        shape = ir.ShapedType(operand.type)
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr) and not shape.is_dynamic_dim(axis):
                sizes[expression.position] = shape.get_dim_size(axis)
    return tuple(sizes)


def _multiplies_and_adds(generic: ir.Operation) -> bool:
    block = generic.regions[0].blocks[0]
    names = [each.name for each in block.operations]
    kind = str(block.arguments[2].type)
    if kind == "i32":
        has_operations = names == ["arith.muli", "arith.addi", "linalg.yield"]
    else:
        has_operations = (
            kind in ("f32", "f64")
            and names[-3:] == ["arith.mulf", "arith.addf", "linalg.yield"]
            and all(name == "arith.extf" for name in names[:-3])
        )
    if not has_operations:
        return False
    multiply, add = (block.operations[len(names) - position].operation for position in (3, 2))
    left, right, total = block.arguments
    factors = set(map(_narrow, multiply.operands))
    return factors == {left, right} and set(add.operands) == {multiply.result, total}


def _narrow(value: ir.Value) -> ir.Value:
    """Returns the operand of an `arith.extf`, or the value itself."""
    widening = producer_named(value, "arith.extf")
    return value if widening is None else widening.operands[0]


def _is_projection(indexing: ir.AffineMap) -> bool:
    return all(isinstance(expression, ir.AffineDimExpr) for expression in indexing.results)


def _dimensions(indexing: ir.AffineMap) -> set[int] | None:
    """Returns the dimensions that a map uses; `None` unless it has sums of multiples only."""
    if any(isinstance(each, ir.AffineConstantExpr) and each.value for each in indexing.results):
        return None
    found: set[int] = set()
    pending = list(indexing.results)
    while pending:
        expression = pending.pop()
        if isinstance(expression, ir.AffineDimExpr):
            found.add(expression.position)
        elif isinstance(expression, ir.AffineAddExpr | ir.AffineMulExpr):
            pending += [expression.lhs, expression.rhs]
        elif not isinstance(expression, ir.AffineConstantExpr) or (
            expression.value != 0 and expression in list(indexing.results)
        ):
            return None
    return found
