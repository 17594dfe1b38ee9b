"""Corrects functions that IREE computes incorrectly: `cbrt` of infinity, and others of -0.0."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir
from torch_mlir.dialects import arith, math

from pipelines.ir.generics import elementwise
from pipelines.stablehlo.casts import is_in_body
from pipelines.stablehlo.origin import foreign_operations
from pipelines.stablehlo.tensors import empty_like


def preserve_special_values(module: ir.Module) -> None:
    """Rewrites the affected functions in other tools' programs, in place."""
    with module.context:
        for operation in foreign_operations(module, _is_such):
            element = ir.RankedTensorType(operation.results[0].type).element_type
            with ir.InsertionPoint(operation), operation.location:
                output = empty_like(operation.operands[0], element)
                body = _BODIES[operation.name]
                result = elementwise(list(operation.operands), output, body)
            operation.results[0].replace_all_uses_with(result)
            operation.erase()


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
