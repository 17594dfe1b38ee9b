"""Converts integers to bf16 through f32.

For CPUs without instructions for bf16, LLVM converts an integer to f32, and calls `__truncsfbf2` to
round the result. IREE's runtime does not have this function. PyTorch converts through f32, too, so
the results are equal.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.pipeline import Step

_CONVERSIONS = ("arith.sitofp", "arith.uitofp")


def convert_through_f32(module: ir.Module) -> None:
    """Rounds converted integers to bf16 by arithmetic on their bits. Changes the IR in place."""
    with module.context:
        replace_operations(find_operations(module, _is_conversion), _rounded)


def _is_conversion(operation: ir.Operation) -> bool:
    return operation.name in _CONVERSIONS and isinstance(operation.result.type, ir.BF16Type)


def _rounded(operation: ir.Operation) -> ir.Value:
    """Returns the upper half of the f32, rounded to the nearest even number.

    MLIR would merge the conversion and an `arith.truncf` into the original conversion.
    """
    (integer,) = operation.operands
    wide = ir.Operation.create(operation.name, results=[ir.F32Type.get()], operands=[integer])
    bits = Scalar(wide.result).bits()
    half = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    return half.to(ir.IntegerType.get_signless(16)).as_bits(operation.result.type).value


CONVERT_THROUGH_F32 = Step(
    "iree-convert-through-f32",
    "convert integers to bf16 through f32: IREE lacks the conversion on CPUs without bf16",
    convert_through_f32,
)
