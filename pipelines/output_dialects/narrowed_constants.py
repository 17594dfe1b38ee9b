"""Folds constants that are narrowed to another type.

PyTorch's numbers are f64. torch-mlir narrows them to the type of the tensor, and MLIR does not fold
that if it rounds. A program in f32 then has f64 operations, which accelerators and IREE's host code
do not have.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named


def fold_narrowed_constants(module: ir.Module) -> None:
    """Replaces each `arith.truncf` of a scalar constant by the constant, rounded to nearest."""
    with module.context:
        for narrowing in find_operations(module, lambda each: each.name == "arith.truncf"):
            constant = producer_named(narrowing.operands[0], "arith.constant")
            if constant is None:
                continue
            value = constant.attributes["value"]
            if not isinstance(value, ir.FloatAttr):
                continue
            result = narrowing.results[0]
            with ir.InsertionPoint(narrowing), narrowing.location:
                folded = ir.FloatAttr.get(result.type, value.value)
                result.replace_all_uses_with(arith.ConstantOp(result.type, folded).result)
            narrowing.erase()
            if not any(constant.operation.result.uses):
                constant.operation.erase()
