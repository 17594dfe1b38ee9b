"""Conversions from f64 to 16 bits go by way of f32, as in eager."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.debugging import step
from pipelines.ir_modules import find_operations


@step("reference-narrow")
def narrow_by_way_of_f32(module: ir.Module) -> None:
    """Splits `arith.truncf` from f64 to bf16 and f16 in two, in place.

    Eager rounds twice. And the function that LLVM calls for f64 to bf16 is in no library here.
    """
    found = find_operations(
        module, lambda operation: operation.name == "arith.truncf" and _skips_f32(operation)
    )
    with module.context:
        for operation in found:
            with operation.location, ir.InsertionPoint(operation):
                single = arith.TruncFOp(ir.F32Type.get(), operation.operands[0])
                operation.operands[0] = single.result


def _skips_f32(operation: ir.Operation) -> bool:
    source, target = operation.operands[0].type, operation.results[0].type
    return isinstance(source, ir.F64Type) and isinstance(target, (ir.BF16Type, ir.F16Type))
