"""Removes annotations, lowers shape checks to assertions, and rejects other custom calls."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import cf, tensor
from pipelines.ir.modules import find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_CALL = "stablehlo.custom_call"
# Annotations affect where or how values are computed, but not the values.
_ANNOTATIONS = frozenset(
    ["Sharding", "annotate_device_placement", "LayoutConstraint", "xla.sdy.FuncResultSharding"]
)
_SHAPE_ASSERTION = "shape_assertion"
# The start of the part of JAX's messages that is about its own syntax.
_DETAILS = ". Using the following polymorphic shapes"


def resolve_custom_calls(module: ir.Module) -> None:
    """Rewrites the custom calls of a module, in place.

    Raises:
        Error: stage `linalg`, for a call of code that is not in the file.
    """
    with module.context:
        for call in find_operations(module, lambda each: each.name == _CALL):
            name = ir.StringAttr(call.attributes["call_target_name"]).value
            if name in _ANNOTATIONS and _is_identity(call):
                call.results[0].replace_all_uses_with(call.operands[0])
            elif name == _SHAPE_ASSERTION:
                _assert(call)
            else:
                raise Error(
                    "linalg",
                    f"the custom call @{name} needs the framework that wrote the file",
                    where=location_line(call.location),
                    hint="export the model without custom calls: unmess runs only operations "
                    "of StableHLO",
                )
            call.erase()
        for barrier in find_operations(module, _is_barrier):
            for result, operand in zip(barrier.results, barrier.operands, strict=True):
                result.replace_all_uses_with(operand)
            barrier.erase()


def _is_identity(call: ir.Operation) -> bool:
    operands, results = list(call.operands), list(call.results)
    return len(operands) == len(results) == 1 and operands[0].type == results[0].type


def _is_barrier(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.optimization_barrier"


def _assert(call: ir.Operation) -> None:
    message = "an input has a shape that the exported program does not allow"
    if "error_message" in call.attributes:
        message = ir.StringAttr(call.attributes["error_message"]).value.partition(_DETAILS)[0]
    with ir.InsertionPoint(call), call.location:
        holds = tensor.ExtractOp(call.operands[0], []).result
        cf.AssertOp(holds, message)
