"""What one execution of a scalar operation counts for."""

from __future__ import annotations

import re

from torch_mlir import ir

# One floating-point operation each. Conversions, selections and moves are none.
_FLOP = re.compile(
    r"arith\.((add|sub|mul|div|rem|neg|cmp)f|(max|min)(imum|num)f)"
    r"|math\.(absf|ceil|copysign|floor|round|roundeven|trunc)"
)
_SEVERAL_FLOPS = {"math.fma": 2, "complex.add": 2, "complex.sub": 2, "complex.mul": 6}
# These take many instructions, and how many is the machine's business.
_TRANSCENDENTAL = re.compile(
    r"math\.(a?(sin|cos|tan)h?|atan2|cbrt|erfc?|exp2?|expm1|fpowi|log(10|1p|2)?|powf|r?sqrt)"
)
_INTEGER = re.compile(
    r"arith\.((add|sub|mul|and|or|xor|shl|cmp)i|(ceil|floor)?div[su]i|(rem|max|min)[su]i|shr[su]i)"
)


def flops(name: str) -> int:
    """Floating-point operations; a fused multiplication and addition is two."""
    return _SEVERAL_FLOPS.get(name) or int(_FLOP.fullmatch(name) is not None)


def transcendentals(name: str) -> int:
    """1 for exponentials, logarithms, roots, powers and trigonometric functions."""
    return int(_TRANSCENDENTAL.fullmatch(name) is not None)


def integers(name: str) -> int:
    """1 for integer arithmetic and comparisons."""
    return int(_INTEGER.fullmatch(name) is not None)


def element_bytes(type_: ir.Type) -> int:
    """Bytes of one element in memory; below one byte is one byte."""
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(ir.ComplexType(type_).element_type)
    if isinstance(type_, ir.IndexType):
        return 8
    for kind in (ir.IntegerType, ir.FloatType):
        if isinstance(type_, kind):
            return -(-kind(type_).width // 8)
    return 0
