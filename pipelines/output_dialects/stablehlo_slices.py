"""Keeps slices with a computed end of 0 empty, at StableHLO.

torch-mlir replaces an end of 0 by the size of the axis: `x[:-1]` of one row is one row.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named

_SLICE = "stablehlo.real_dynamic_slice"
_EQUAL = 0


def keep_empty_slices(module: ir.Module) -> None:
    """Rewrites the ends of the dynamic slices in a module at StableHLO, in place."""
    with module.context:
        for operation in find_operations(module, lambda each: each.name == _SLICE):
            ends = producer_named(operation.operands[2], "tensor.from_elements")
            if ends is not None:
                for place, end in enumerate(ends.operands):
                    ends.operands[place] = _own_end(end)


def _own_end(end: ir.Value) -> ir.Value:
    """Returns the end that a selection replaces if it is 0."""
    selection = producer_named(end, "arith.select")
    if selection is None:
        return end
    condition, _, own = selection.operands
    comparison = producer_named(condition, "arith.cmpi")
    if comparison is None or ir.IntegerAttr(comparison.attributes["predicate"]).value != _EQUAL:
        return end
    zero = producer_named(comparison.operands[1], "arith.constant")
    is_zero = zero is not None and ir.IntegerAttr(zero.attributes["value"]).value == 0
    return own if is_zero and comparison.operands[0] == own else end
