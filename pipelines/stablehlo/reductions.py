"""Lowers reductions of no axis and of no element.

`stablehlo-legalize-to-linalg` does not lower them. The sum of a number is a reduction of no axis.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.stablehlo.bodies import mapped


def lower_trivial_reductions(module: ir.Module) -> None:
    """Rewrites reductions of no axis or no element, with results of static size, in place."""
    with module.context:
        replace_operations(find_operations(module, _is_trivial), _lowered)


def _is_trivial(operation: ir.Operation) -> bool:
    if operation.name != "stablehlo.reduce":
        return False
    if not ir.RankedTensorType(operation.results[0].type).has_static_shape:
        return False
    return not _reduced(operation) or _is_empty(operation)


def _reduced(reduction: ir.Operation) -> list[int]:
    return list(ir.DenseI64ArrayAttr(reduction.attributes["dimensions"]))


def _is_empty(reduction: ir.Operation) -> bool:
    return 0 in ir.RankedTensorType(reduction.operands[0].type).shape


def _lowered(reduction: ir.Operation) -> list[ir.Value]:
    """Combines each element with the initial value; without elements, returns the initial value."""
    count = len(reduction.results)
    inputs, initial = list(reduction.operands)[:count], list(reduction.operands)[count:]
    none = ir.DenseI64ArrayAttr.get([])
    filled = [
        build_op("stablehlo.broadcast_in_dim", result.type, each, broadcast_dimensions=none)
        for result, each in zip(reduction.results, initial, strict=True)
    ]
    if _is_empty(reduction):
        return filled
    return mapped(reduction, [*filled, *inputs])
