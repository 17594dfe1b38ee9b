"""Corrects conversions and functions that IREE computes incorrectly.

In StableHLO, conversions out of range are implementation-defined, and in LLVM undefined. Here,
conversions of floats to integers saturate, and convert NaN to 0, as in XLA.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.expressions import Scalar, select
from pipelines.ir.generics import elementwise
from pipelines.ir.lazy_dialects import math
from pipelines.ir.modules import build_op, replace_operations
from pipelines.ir.tensor_ops import empty_like
from pipelines.stablehlo.origin import foreign_operations


def saturate_casts(module: ir.Module) -> None:
    """Rewrites conversions of floats to integers in other tools' programs, in place."""
    with module.context:
        replace_operations(foreign_operations(module, _is_cast), _saturated)


def _is_cast(operation: ir.Operation) -> bool:
    if operation.name != "stablehlo.convert":
        return False
    source, target = (
        ir.RankedTensorType(each.type).element_type
        for each in (operation.operands[0], operation.results[0])
    )
    is_number = isinstance(target, ir.IntegerType) and target.width > 1
    return isinstance(source, ir.FloatType) and is_number and not is_in_body(operation)


def is_in_body(operation: ir.Operation) -> bool:
    """Returns whether an operation is in the scalar body of another one, such as a reduction."""
    return operation.parent.operation.name not in _HOLDERS


_HOLDERS = ("func.func", "stablehlo.while", "stablehlo.if", "stablehlo.case")


def _saturated(cast: ir.Operation) -> ir.Value:
    target = ir.RankedTensorType(cast.results[0].type)
    own = ir.IntegerType(target.element_type)
    width, signed = own.width, not own.is_unsigned
    word = ir.IntegerType.get_signless(width)
    low = -(2 ** (width - 1)) if signed else 0
    high = 2 ** (width - 1) - 1 if signed else 2**width - 1

    def convert(element: ir.Value, _: ir.Value) -> list[ir.Value]:
        x = Scalar(element)
        # The limits are powers of two, or 0, which floats represent exactly.
        above, below = x >= high + 1, x < low
        number = select(above | below | x.is_nan(), 0, x).to(word, signed)
        return [select(below, low, select(above, high, number)).value]

    result = elementwise([cast.operands[0]], empty_like(cast.operands[0], word), convert)
    return result if own == word else build_op("stablehlo.bitcast_convert", target, result)


def preserve_special_values(module: ir.Module) -> None:
    """Rewrites the affected functions in other tools' programs, in place."""
    with module.context:
        replace_operations(foreign_operations(module, _is_such), _corrected)


def _corrected(operation: ir.Operation) -> ir.Value:
    element = ir.RankedTensorType(operation.results[0].type).element_type
    output = empty_like(operation.operands[0], element)
    return elementwise(list(operation.operands), output, _BODIES[operation.name])


def _is_such(operation: ir.Operation) -> bool:
    if operation.name not in _BODIES or is_in_body(operation):
        return False
    return isinstance(ir.RankedTensorType(operation.results[0].type).element_type, ir.FloatType)


def _atan2(y: ir.Value, x: ir.Value, _: ir.Value) -> list[ir.Value]:
    """Computes atan2 of the magnitude of y, and copies the sign of y."""
    angle = math.Atan2Op(math.AbsFOp(y).result, x).result
    return [math.CopySignOp(angle, y).result]


def _cbrt(element: ir.Value, _: ir.Value) -> list[ir.Value]:
    """Computes the cube root; that of an infinity is the infinity itself."""
    x = Scalar(element)
    return [select(x.size().equals(float("inf")), x, x.math("cbrt")).value]


def _zero_is_kept(name: str, element: ir.Value, _: ir.Value) -> list[ir.Value]:
    """Computes a function of `math`. Zeros keep their signs."""
    x = Scalar(element)
    return [select(x.equals(0), x, x.math(name)).value]


_BODIES: dict[str, Callable[..., list[ir.Value]]] = {
    "stablehlo.atan2": _atan2,
    "stablehlo.cbrt": _cbrt,
    "stablehlo.sine": functools.partial(_zero_is_kept, "sin"),
    "stablehlo.tan": functools.partial(_zero_is_kept, "tan"),
}
