"""Fixes the order of NaN in sorts, argmax and argmin.

NaN sorts as the largest number, and the index of an extreme is that of the first NaN. In
torch-mlir's lowerings every comparison with NaN is false, so sorted results are out of order.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import build_op, find_operations

_GENERIC = "linalg.generic"
_REDUCTIONS = ("stablehlo.reduce", "stablehlo.reduce_window")
_COMPARE = "stablehlo.compare"


def order_nan(module: ir.Module) -> None:
    """Rewrites the comparisons of `tm_tensor.sort` and of argmax and argmin at `linalg`."""
    with module.context:
        for sort in find_operations(module, lambda operation: operation.name == "tm_tensor.sort"):
            for comparison in _comparisons(sort):
                _keep_nan_last(comparison)
        for generic in find_operations(module, lambda operation: operation.name == _GENERIC):
            for comparison in _comparisons(generic):
                if _decides_place(comparison, generic):
                    _take_first_nan(comparison)


def _comparisons(operation: ir.Operation) -> list[ir.Operation]:
    body = operation.regions[0].blocks[0]
    return [inner.operation for inner in body if inner.operation.name == "arith.cmpf"]


def _predicate(comparison: ir.Operation) -> int:
    return ir.IntegerAttr(comparison.attributes["predicate"]).value


def _keep_nan_last(comparison: ir.Operation) -> None:
    """Makes the comparison also true if the operand that should be larger is NaN."""
    smaller, larger = comparison.operands
    if _predicate(comparison) in (arith.CmpFPredicate.OGE, arith.CmpFPredicate.OGT):
        smaller, larger = larger, smaller
    with ir.InsertionPoint.after(comparison), comparison.location:
        is_nan = arith.CmpFOp(arith.CmpFPredicate.UNO, larger, larger).result
        stays = arith.OrIOp(comparison.result, is_nan)
    comparison.result.replace_all_uses_except(stays.result, stays.operation)


def _decides_place(comparison: ir.Operation, generic: ir.Operation) -> bool:
    """Returns whether a comparison of an element with the current extreme selects an integer."""
    body, extreme = generic.regions[0].blocks[0], comparison.operands[1]
    if _predicate(comparison) not in (arith.CmpFPredicate.OGT, arith.CmpFPredicate.OLT):
        return False
    if extreme not in list(body.arguments)[-len(generic.results) :]:
        return False
    return any(
        use.owner.name == "arith.select" and isinstance(use.owner.results[0].type, ir.IntegerType)
        for use in comparison.result.uses
    )


def _take_first_nan(comparison: ir.Operation) -> None:
    """Makes NaN win against any current extreme except NaN."""
    _, extreme = comparison.operands
    unordered = {
        arith.CmpFPredicate.OGT: arith.CmpFPredicate.UGT,
        arith.CmpFPredicate.OLT: arith.CmpFPredicate.ULT,
    }
    number = ir.IntegerType.get_signless(64)
    predicate = unordered[_predicate(comparison)]
    comparison.attributes["predicate"] = ir.IntegerAttr.get(number, predicate)
    with ir.InsertionPoint.after(comparison), comparison.location:
        is_number = arith.CmpFOp(arith.CmpFPredicate.ORD, extreme, extreme).result
        beats = arith.AndIOp(comparison.result, is_number)
    comparison.result.replace_all_uses_except(beats.result, beats.operation)


def order_nan_at_stablehlo(module: ir.Module) -> None:
    """Rewrites the comparisons of reductions to an extreme and its index at `stablehlo`."""
    with module.context:
        for comparison in find_operations(module, _compares_extremes):
            with ir.InsertionPoint.after(comparison), comparison.location:
                x, extreme = map(_not_equal_to_itself, comparison.operands)
                wins = x
                if str(comparison.attributes["comparison_direction"]) == str(_direction("EQ")):
                    wins = build_op("stablehlo.and", x.type, x, extreme)
                either = build_op("stablehlo.or", x.type, comparison.result, wins)
            comparison.result.replace_all_uses_except(either, either.owner.operation)


def _compares_extremes(operation: ir.Operation) -> bool:
    """Returns whether an operation compares floats in a reduction with several results."""
    if operation.name != _COMPARE or operation.parent.operation.name not in _REDUCTIONS:
        return False
    element = ir.RankedTensorType(operation.operands[0].type).element_type
    return isinstance(element, ir.FloatType) and len(operation.parent.operation.results) > 1


def _not_equal_to_itself(x: ir.Value) -> ir.Value:
    truths = ir.RankedTensorType.get([], ir.IntegerType.get_signless(1))
    return build_op(_COMPARE, truths, x, x, comparison_direction=_direction("NE"))


def _direction(name: str) -> ir.Attribute:
    return ir.Attribute.parse(f"#stablehlo<comparison_direction {name}>")
