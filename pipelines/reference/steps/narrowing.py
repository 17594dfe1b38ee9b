"""Makes conversions between f64 and 16-bit floats go through f32, as in eager."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.ir.modules import find_operations

_CONVERSIONS = {"arith.truncf": arith.TruncFOp, "arith.extf": arith.ExtFOp}


def narrow_through_f32(module: ir.Module) -> None:
    """Splits conversions between f64 and bf16 or f16 in two, in place.

    Eager rounds twice. Also, no library here has the function that LLVM calls for f64 to bf16.
    """
    with module.context:
        for operation in find_operations(module, _skips_f32):
            with operation.location, ir.InsertionPoint(operation):
                single = _CONVERSIONS[operation.name](ir.F32Type.get(), operation.operands[0])
                operation.operands[0] = single.result


def _skips_f32(operation: ir.Operation) -> bool:
    if operation.name not in _CONVERSIONS:
        return False
    types = operation.operands[0].type, operation.results[0].type
    return any(isinstance(type, ir.F64Type) for type in types) and any(
        isinstance(type, (ir.BF16Type, ir.F16Type)) for type in types
    )
