"""Computes a `linalg.generic` with NumPy, from its indexing maps and its body.

Each result element is computed at all points of the reduction loops, one after the other in their
order. The elements are computed side by side, as arrays. If the iteration space is large, only some
elements are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mlir import ir

from unmess.corpus.replay import scalars
from unmess.corpus.replay.engine import dtype_of
from unmess.corpus.replay.scalars import Undefined
from unmess.corpus.tensors import rounded, widened

# The number of points of the iteration space to compute, and the least number of result elements.
_POINTS, _ELEMENTS = 1 << 20, 64
# The largest number of points of the reduction loops: more would take too long.
_LONGEST = 1 << 17


class NotEvaluated(Exception):
    """NumPy cannot compute the operation; the message is the reason."""


@dataclass(frozen=True)
class Elements:
    """Some elements of a result: their places, and their values."""

    places: tuple[np.ndarray, ...]
    values: np.ndarray


class Interpreter:
    """Computes one `linalg.generic`.

    Args:
        generic: the operation.
        sizes: the sizes of its loops.
    """

    def __init__(self, generic: ir.Operation, sizes: Sequence[int]):
        self._generic = generic
        self._sizes = sizes
        self._maps = [each.value for each in generic.attributes["indexing_maps"]]
        kinds = [str(each) for each in generic.attributes["iterator_types"]]
        self._reductions = [axis for axis, kind in enumerate(kinds) if "reduction" in kind]
        self._outputs = len(generic.results)
        self._body = generic.regions[0].blocks[0]

    def run(self, values: dict[ir.Value, np.ndarray], seed: int) -> list[Elements]:
        """Returns elements of each result.

        Args:
            values: the operands, and all other values that the body uses.
            seed: selects the elements, if not all are computed.

        Raises:
            NotEvaluated: there is no NumPy function for an operation, or it would take too long.
            Undefined: the result is not defined for these operands.
        """
        operands = list(self._generic.operands)
        inputs, outputs = operands[: -self._outputs], operands[-self._outputs :]
        rows = math.prod(self._sizes[axis] for axis in self._reductions)
        if rows > _LONGEST:
            raise NotEvaluated(f"a reduction over {rows} points takes too long")
        indices = self._selected(rows, seed)
        places = [
            self._places(each, indices) for each in self._maps[len(self._maps) - self._outputs :]
        ]
        state = [
            _wide(values[operand], operand.type)[place]
            for operand, place in zip(outputs, places, strict=True)
        ]
        wide = {value: _wide(array, value.type) for value, array in values.items()}
        for row in range(rows):
            point = list(indices)
            if self._reductions:
                shape = [self._sizes[axis] for axis in self._reductions]
                for axis, index in zip(self._reductions, np.unravel_index(row, shape), strict=True):
                    point[axis] = np.int64(index)
            taken = [
                wide[operand][self._places(each, point)]
                for operand, each in zip(inputs, self._maps, strict=False)
            ]
            state = self._step(point, [*taken, *state], wide)
        return [
            Elements(place, _narrow(np.broadcast_to(value, _shape(place)), operand.type))
            for place, value, operand in zip(places, state, outputs, strict=True)
        ]

    def _selected(self, rows: int, seed: int) -> list[np.ndarray | None]:
        """Returns the indices of the parallel loops at the selected elements; None for others."""
        parallel = [axis for axis in range(len(self._sizes)) if axis not in self._reductions]
        shape = [self._sizes[axis] for axis in parallel]
        total = math.prod(shape)
        wanted = max(_ELEMENTS, _POINTS // max(rows, 1))
        if total <= wanted:
            chosen = np.arange(total)
        else:
            random = np.random.PCG64(seed).random_raw(wanted) % np.uint64(total)
            # The first and the last element are at the edges of the operands.
            chosen = np.unique(np.concatenate([random.astype(np.int64), [0, total - 1]]))
        indices: list[np.ndarray | None] = [None] * len(self._sizes)
        if parallel:
            for axis, index in zip(parallel, np.unravel_index(chosen, shape), strict=True):
                indices[axis] = index
        return indices

    def _places(self, affine: ir.AffineMap, point: Sequence) -> tuple[np.ndarray, ...]:
        return tuple(np.asarray(evaluate(each, point)) for each in affine.results)

    def _step(
        self,
        point: Sequence[np.ndarray],
        arguments: Sequence[np.ndarray],
        outer: dict[ir.Value, np.ndarray],
    ) -> list[np.ndarray]:
        """Computes the body at one point of the reduction loops."""
        known = {**outer, **dict(zip(self._body.arguments, arguments, strict=True))}
        for each in self._body.operations:
            operation = each.operation
            if operation.name == "linalg.yield":
                return [known[operand] for operand in operation.operands]
            operands = [known[operand] for operand in operation.operands]
            if operation.name == "linalg.index":
                dim = ir.IntegerAttr(operation.attributes["dim"]).value
                result = np.asarray(point[dim], np.int64)
            else:
                result = compute(operation, operands)
            if result is not None:
                known[operation.results[0]] = _settled(result, operation.results[0].type)
        raise NotEvaluated("the body has no linalg.yield")


def compute(operation: ir.Operation, operands: Sequence[np.ndarray]) -> np.ndarray | None:
    """Returns the result of an operation of a body; None if it has none.

    Raises:
        NotEvaluated, Undefined: as for `Interpreter.run`.
    """
    name = operation.name
    dtype = None
    if len(operation.results) == 1:
        dtype = _wide_dtype(operation.results[0].type)
    if name in scalars.BINARY:
        on_bits = operands[0].dtype == bool and name in scalars.ON_BITS
        return (scalars.ON_BITS if on_bits else scalars.BINARY)[name](*operands)
    if name in scalars.UNARY:
        return scalars.UNARY[name](*operands)
    match name:
        case "arith.constant":
            return constant(operation)
        case "arith.cmpi":
            return scalars.COMPARE_INTEGERS[_number(operation, "predicate")](*operands)
        case "arith.cmpf":
            return scalars.compare_floats(_number(operation, "predicate"), *operands)
        case "arith.select":
            return np.where(*operands)
        case "math.fma":
            wide = [operand.astype(np.float64) for operand in operands]
            return (wide[0] * wide[1] + wide[2]).astype(dtype)
        case "complex.create":
            return (operands[0] + 1j * operands[1]).astype(dtype)
        case "tensor.extract":
            source, *indices = operands
            for index, size in zip(indices, source.shape, strict=True):
                if ((index < 0) | (index >= size)).any():
                    raise Undefined("an index out of range")
            return source[tuple(indices)]
        case "tensor.dim":
            return np.int64(operands[0].shape[int(operands[1])])
        case "cf.assert":
            if not operands[0].all():
                raise Undefined("an assertion fails")
            return None
        case "arith.bitcast" if "bf16" in str(operation):
            raise NotEvaluated("no NumPy function for arith.bitcast of bf16")
        case _ if name.startswith("arith.") and len(operands) == 1 and dtype is not None:
            return scalars.convert(name, operands[0], dtype)
    raise NotEvaluated(f"no NumPy function for {name}")


def constant(operation: ir.Operation) -> np.ndarray:
    """Returns the value of an `arith.constant`: an array of rank 0 for a number."""
    content = operation.attributes["value"]
    kind = operation.results[0].type
    if not isinstance(kind, ir.RankedTensorType):
        return np.asarray(content.value).astype(_wide_dtype(kind))
    if str(kind.element_type) == "bf16":
        raise NotEvaluated("a constant tensor of bf16")
    if content.is_splat:
        value = content.get_splat_value().value
        return np.full(kind.shape, value).astype(_wide_dtype(kind))
    return np.array(content).astype(_wide_dtype(kind)).reshape(kind.shape)


def evaluate(expression: ir.AffineExpr, point: Sequence):
    """Returns the value of an affine expression without symbols.

    Args:
        point: the value of each dimension: numbers or arrays.
    """
    if isinstance(expression, ir.AffineDimExpr):
        return point[ir.AffineDimExpr(expression).position]
    if isinstance(expression, ir.AffineConstantExpr):
        return ir.AffineConstantExpr(expression).value
    operations = (
        (ir.AffineAddExpr, lambda a, b: a + b),
        (ir.AffineMulExpr, lambda a, b: a * b),
        (ir.AffineModExpr, lambda a, b: a % b),
        (ir.AffineFloorDivExpr, lambda a, b: a // b),
        (ir.AffineCeilDivExpr, lambda a, b: -(-a // b)),
    )
    for kind, apply in operations:
        if isinstance(expression, kind):
            own = kind(expression)
            return apply(evaluate(own.lhs, point), evaluate(own.rhs, point))
    raise NotEvaluated(f"the affine expression {expression}")


def _shape(places: tuple[np.ndarray, ...]) -> tuple[int, ...]:
    # An index that is the same for all elements has rank 0.
    return np.broadcast_shapes(*(place.shape for place in places))


def _number(operation: ir.Operation, name: str) -> int:
    return ir.IntegerAttr(operation.attributes[name]).value


def _is_bfloat16(kind: ir.Type) -> bool:
    element = kind.element_type if isinstance(kind, ir.RankedTensorType) else kind
    return str(element) == "bf16"


def _wide_dtype(kind: ir.Type) -> np.dtype:
    return np.dtype(np.float32) if _is_bfloat16(kind) else dtype_of(kind)


def _wide(array: np.ndarray, kind: ir.Type) -> np.ndarray:
    """Returns the values of an array in memory: bfloat16 as float32."""
    return widened(array) if _is_bfloat16(kind) and array.dtype == np.uint16 else array


def _narrow(values: np.ndarray, kind: ir.Type) -> np.ndarray:
    return rounded(values, "bfloat16") if _is_bfloat16(kind) else values


def _settled(values: np.ndarray, kind: ir.Type) -> np.ndarray:
    """Rounds the result of one operation to its type."""
    if _is_bfloat16(kind):
        return widened(rounded(np.asarray(values), "bfloat16"))
    return np.asarray(values).astype(dtype_of(kind), copy=False)
