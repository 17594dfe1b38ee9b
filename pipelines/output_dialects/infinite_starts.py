"""Starts maxima and minima at infinities, in the lowering of TOSA to linalg.

MLIR starts them at the largest finite numbers, and pads the input of a max pooling with one. So the
maximum of -inf and -inf is a finite number.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.values import producer_named, terminator

_REDUCTIONS = ("linalg.reduce", "linalg.generic")
_POOLING = "linalg.pooling_nhwc_max"
# The largest finite numbers.
_LARGEST = {
    "f16": 65504.0,
    "bf16": (2 - 2**-7) * 2.0**127,
    "f32": (2 - 2**-23) * 2.0**127,
    "f64": (2 - 2**-52) * 2.0**1023,
}


def start_at_infinities(module: ir.Module) -> None:
    """Rewrites the reductions of a module that is partly lowered from TOSA to linalg, in place.

    Call it before `tosa.pad` is lowered: a pad of `linalg` then belongs to a pooling.
    """
    with module.context:
        found = find_operations(module, lambda each: each.name in (*_REDUCTIONS, _POOLING))
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _start(operation)
                if operation.name == _POOLING:
                    _pad(operation)


def _start(operation: ir.Operation) -> None:
    first = len(operation.operands) - len(operation.results)
    for place in range(first, len(operation.operands)):
        fill = producer_named(operation.operands[place], "linalg.fill")
        infinity = None if fill is None else _infinity(fill.operands[0])
        if infinity is not None:
            filled = fill.clone()
            filled.operands[0] = infinity
            operation.operands[place] = filled.results[0]


def _pad(pooling: ir.Operation) -> None:
    pad = producer_named(pooling.operands[0], "tensor.pad")
    if pad is None:
        return
    yielded = terminator(pad.regions[0].blocks[0])
    with ir.InsertionPoint(pad):
        infinity = _infinity(yielded.operands[0])
    if infinity is not None:
        yielded.operands[0] = infinity


def _infinity(value: ir.Value) -> ir.Value | None:
    """Returns the infinity for a constant that is the largest or the lowest finite number."""
    constant = producer_named(value, "arith.constant")
    if constant is None or not isinstance(constant.attributes["value"], ir.FloatAttr):
        return None
    number = ir.FloatAttr(constant.attributes["value"]).value
    if abs(number) != _LARGEST.get(str(value.type)):
        return None
    infinity = ir.FloatAttr.get(value.type, math.copysign(math.inf, number))
    return build_op("arith.constant", value.type, value=infinity)
