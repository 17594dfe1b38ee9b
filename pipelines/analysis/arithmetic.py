"""Counts the arithmetic of one execution of a scalar operation."""

from __future__ import annotations

import re

from torch_mlir import ir

# One floating-point operation each. Conversions, selections and moves do not count.
_FLOP = re.compile(
    r"arith\.((add|sub|mul|div|rem|neg|cmp)f|(max|min)(imum|num)f)"
    r"|math\.(absf|ceil|copysign|floor|round|roundeven|trunc)"
)
_SEVERAL_FLOPS = {"math.fma": 2, "complex.add": 2, "complex.sub": 2, "complex.mul": 6}
# The number of instructions of these functions depends on the hardware.
_TRANSCENDENTAL = re.compile(
    r"math\.(a?(sin|cos|tan)h?|atan2|cbrt|erfc?|exp2?|expm1|fpowi|log(10|1p|2)?|powf|r?sqrt)"
)
_INTEGER = re.compile(
    r"arith\.((add|sub|mul|and|or|xor|shl|cmp)i|(ceil|floor)?div[su]i|(rem|max|min)[su]i|shr[su]i)"
)


def flops(name: str) -> int:
    """Returns the number of floating-point operations; a fused multiply-add counts as two."""
    return _SEVERAL_FLOPS.get(name) or int(_FLOP.fullmatch(name) is not None)


def transcendentals(name: str) -> int:
    """Returns 1 for exponentials, logarithms, roots, powers and trigonometric functions, else 0."""
    return int(_TRANSCENDENTAL.fullmatch(name) is not None)


def integers(name: str) -> int:
    """Returns 1 for integer arithmetic and comparisons, else 0."""
    return int(_INTEGER.fullmatch(name) is not None)


def element_bytes(type_: ir.Type) -> int:
    """Returns the bytes of one element in memory, rounded up to whole bytes."""
    if isinstance(type_, ir.ComplexType):
        return 2 * element_bytes(ir.ComplexType(type_).element_type)
    if isinstance(type_, ir.IndexType):
        return 8
    for kind in (ir.IntegerType, ir.FloatType):
        if isinstance(type_, kind):
            return -(-kind(type_).width // 8)
    return 0
