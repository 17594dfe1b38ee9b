"""Makes conversions of floats to integers saturate, and convert NaN to 0, as in XLA.

In StableHLO, conversions out of range are implementation-defined, and in LLVM undefined.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.ir.generics import elementwise
from pipelines.ir.modules import build_op
from pipelines.stablehlo.origin import foreign_operations
from pipelines.stablehlo.tensors import empty_like


def saturate_casts(module: ir.Module) -> None:
    """Rewrites conversions of floats to integers in other tools' programs, in place."""
    with module.context:
        for cast in foreign_operations(module, _is_cast):
            with ir.InsertionPoint(cast), cast.location:
                cast.results[0].replace_all_uses_with(_saturated(cast))
            cast.erase()


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
