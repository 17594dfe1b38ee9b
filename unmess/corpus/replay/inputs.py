"""Sizes of the loops and the arguments of a kernel, and values of the arguments."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

import numpy as np
from mlir import ir

from unmess.corpus.replay.engine import dtype_of
from unmess.corpus.replay.interpreter import NotEvaluated, evaluate
from unmess.corpus.tensors import rounded, standard_normal

# The sizes that dynamic loops get, in this order. They differ: a kernel that mixes up axes fails.
_SIZES = (3, 5, 2, 7, 4, 6)
# Ranges of integers, in the order in which they are tried: an operation may be undefined for some.
RANGES = ((-8, 8), (0, 8), (1, 8), (0, 1))
_DIVISIONS = ("div", "rem", "shl", "shr", "mod")


def loop_sizes(generic: ir.Operation) -> list[int]:
    """Returns the sizes of the loops of a `linalg.generic`; those of dynamic ones are chosen."""
    maps = [each.value for each in generic.attributes["indexing_maps"]]
    sizes: list[int | None] = [None] * maps[0].n_dims
    for operand, affine in zip(generic.operands, maps, strict=True):
        if not isinstance(operand.type, ir.RankedTensorType):
            continue
        for axis, expression in enumerate(affine.results):
            if isinstance(expression, ir.AffineDimExpr) and not operand.type.is_dynamic_dim(axis):
                place = ir.AffineDimExpr(expression).position
                sizes[place] = operand.type.get_dim_size(axis)
    chosen = iter(_SIZES * len(sizes))
    return [next(chosen) if size is None else size for size in sizes]


def shapes(generic: ir.Operation, sizes: Sequence[int]) -> dict[ir.Value, list[int]]:
    """Returns the shapes of the operands.

    Raises:
        NotEvaluated: an operand is needed with two shapes, or a captured tensor is dynamic.
    """
    maps = [each.value for each in generic.attributes["indexing_maps"]]
    found: dict[ir.Value, list[int]] = {}
    last = [max(size - 1, 0) for size in sizes]
    for operand, affine in zip(generic.operands, maps, strict=True):
        if not isinstance(operand.type, ir.RankedTensorType):
            continue
        shape = []
        for axis, expression in enumerate(affine.results):
            if operand.type.is_dynamic_dim(axis):
                # Coefficients of convolutions are positive, so the last point is the largest.
                empty = any(not sizes[each] for each in _dims(expression))
                shape.append(0 if empty else int(evaluate(expression, last)) + 1)
            else:
                shape.append(operand.type.get_dim_size(axis))
        if found.setdefault(operand, shape) != shape:
            raise NotEvaluated("an operand is used with two shapes")
    return found


def captured_shape(kind: ir.RankedTensorType) -> list[int]:
    """Returns the shape of a tensor that only the body uses."""
    chosen = iter(_SIZES * kind.rank)
    return [
        next(chosen) if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
        for axis in range(kind.rank)
    ]


def integer_ranges(
    generic: ir.Operation, captured: Sequence[Sequence[int]]
) -> list[tuple[int, int]]:
    """Returns the ranges of integer arguments to try, the end excluded.

    Indices into captured tensors are valid at every point, because only some are checked.
    """
    names = {each.operation.name for each in generic.regions[0].blocks[0].operations}
    ranges = list(RANGES)
    if any(part in name for name in names for part in _DIVISIONS if name.startswith("arith.")):
        ranges = [each for each in RANGES if each[0] > 0] + [(0, 1)]
    if captured:
        smallest = min((size for shape in captured for size in shape), default=1)
        ranges = [(0, max(smallest, 1)), (0, 1)]
    return ranges


def values(
    kind: ir.Type, shape: Sequence[int], seed: str, span: tuple[int, int], *, positive: bool
) -> np.ndarray:
    """Returns an argument.

    Args:
        seed: the same text gives the same values.
        span: the range of integers.
        positive: whether floats are positive.
    """
    dtype = dtype_of(kind)
    number = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "little")
    count = math.prod(shape)
    normal = standard_normal(number, count)
    if positive:
        normal = np.abs(normal) + 0.125
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    if str(element) == "bf16":
        return rounded(normal, "bfloat16").reshape(shape)
    if dtype.kind == "c":
        return (normal + 1j * normal[::-1]).astype(dtype).reshape(shape)
    if dtype.kind == "f":
        return normal.astype(dtype).reshape(shape)
    raw = np.random.PCG64(number).random_raw(max(count, 1))[:count]
    if dtype.kind == "b":
        return (raw & np.uint64(1)).astype(bool).reshape(shape)
    low, high = span
    return (low + (raw % np.uint64(high - low)).astype(np.int64)).astype(dtype).reshape(shape)


def _dims(expression: ir.AffineExpr) -> list[int]:
    if isinstance(expression, ir.AffineDimExpr):
        return [ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineBinaryExpr):
        own = ir.AffineBinaryExpr(expression)
        return _dims(own.lhs) + _dims(own.rhs)
    return []
