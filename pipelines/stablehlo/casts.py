"""Corrects conversions and functions that IREE computes incorrectly.

In StableHLO, conversions out of range are implementation-defined, and in LLVM undefined. Here,
conversions of floats to integers saturate, and convert NaN to 0, as in XLA.
"""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.generics import elementwise
from pipelines.ir.lazy_dialects import arith, math
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

    def convert(x: ir.Value, _: ir.Value) -> list[ir.Value]:
        # The limits are powers of two, or 0, which floats represent exactly.
        above = _compare(arith.CmpFPredicate.OGE, x, float(high + 1))
        below = _compare(arith.CmpFPredicate.OLT, x, float(low))
        nan = arith.CmpFOp(arith.CmpFPredicate.UNO, x, x).result
        outside = arith.OrIOp(arith.OrIOp(above, below).result, nan).result
        inside = arith.SelectOp(outside, _float(0.0, x.type), x).result
        number = (arith.FPToSIOp if signed else arith.FPToUIOp)(word, inside).result
        number = arith.SelectOp(above, _integer(high, word), number).result
        return [arith.SelectOp(below, _integer(low, word), number).result]

    result = elementwise([cast.operands[0]], empty_like(cast.operands[0], word), convert)
    return result if own == word else build_op("stablehlo.bitcast_convert", target, result)


def _compare(predicate: arith.CmpFPredicate, x: ir.Value, limit: float) -> ir.Value:
    return arith.CmpFOp(predicate, x, _float(limit, x.type)).result


def _float(number: float, kind: ir.Type) -> ir.Value:
    return arith.ConstantOp(kind, ir.FloatAttr.get(kind, number)).result


def _integer(number: int, kind: ir.Type) -> ir.Value:
    # Attributes of signless integers are signed.
    signed = number - 2**kind.width if number >= 2 ** (kind.width - 1) else number
    return arith.ConstantOp(kind, ir.IntegerAttr.get(kind, signed)).result


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


def _cbrt(x: ir.Value, _: ir.Value) -> list[ir.Value]:
    """Computes the cube root; that of an infinity is the infinity itself."""
    infinity = arith.ConstantOp(x.type, ir.FloatAttr.get(x.type, float("inf"))).result
    magnitude = math.AbsFOp(x).result
    is_infinite = arith.CmpFOp(arith.CmpFPredicate.OEQ, magnitude, infinity).result
    return [arith.SelectOp(is_infinite, x, math.CbrtOp(x).result).result]


def _sine(x: ir.Value, _: ir.Value) -> list[ir.Value]:
    return [_zero_is_kept(x, math.SinOp(x).result)]


def _tangent(x: ir.Value, _: ir.Value) -> list[ir.Value]:
    return [_zero_is_kept(x, math.TanOp(x).result)]


def _zero_is_kept(x: ir.Value, result: ir.Value) -> ir.Value:
    """Returns `x` if it is a zero, which keeps its sign; else `result`."""
    zero = arith.ConstantOp(x.type, ir.FloatAttr.get(x.type, 0.0)).result
    is_zero = arith.CmpFOp(arith.CmpFPredicate.OEQ, x, zero).result
    return arith.SelectOp(is_zero, x, result).result


_BODIES: dict[str, Callable[..., list[ir.Value]]] = {
    "stablehlo.atan2": _atan2,
    "stablehlo.cbrt": _cbrt,
    "stablehlo.sine": _sine,
    "stablehlo.tan": _tangent,
}
