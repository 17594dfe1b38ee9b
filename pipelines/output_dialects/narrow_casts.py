"""Converts floats to integers of 8 and 16 bits through integers of 32 bits.

torch-mlir lowers `x.to(torch.uint8)` to `arith.fptosi` with result i8, which is undefined above
127: vector instructions saturate there, so 200.0 becomes 127. Eager PyTorch drops the upper bits.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.torch_expressions import cast
from pipelines.ir.torch_operations import element_of, is_float, rewrite

_NARROW = ("ui8", "si8", "ui16", "si16")


def convert_in_two_steps(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place."""
    rewrite(
        module,
        dict.fromkeys(
            ("torch.aten.to.dtype", "torch.prims.convert_element_type"), _through_wide_integers
        ),
    )


def _through_wide_integers(conversion: ir.Operation) -> None:
    x = conversion.operands[0]
    if is_float(x.type) and element_of(conversion.result.type) in _NARROW:
        # Eager converts f64 to int64 first, and keeps the lowest 8 bits.
        is_wide = element_of(x.type) == "f64" and element_of(conversion.result.type) == "ui8"
        conversion.operands[0] = cast(x, "si64" if is_wide else "si32")
