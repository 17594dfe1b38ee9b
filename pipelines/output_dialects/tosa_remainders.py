"""Computes `fmod` and `remainder` of floats exactly at TOSA, which has no division of floats.

torch-mlir subtracts the rounded product of the divisor and the quotient from the dividend. Beside a
multiple of the divisor, the quotient may be off by one, and 0.5 % 0.001 becomes 0 instead of nearly
0.001. Here, the product has an error term (T. J. Dekker, A floating-point technique for extending
the available precision, 1971), so that the difference is exact, and a quotient that is off by one
is corrected. Quotients with more digits than the dtype are as inexact as torch-mlir's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.torch_expressions import TorchTensor, computed, literal
from pipelines.ir.torch_operations import element_of, is_float, number_of

# The number of bits of the significand.
_BITS = {"f32": 24, "f64": 53}
# Larger divisors may overflow when they are split.
_LARGEST = {"f32": 1e30, "f64": 1e290}


def exact_fmod(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `fmod.Tensor` or `fmod.Scalar`; None for integers."""
    return _computed(operation, _fmod)


def exact_remainder(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `remainder.Tensor` or `remainder.Scalar`; None for integers."""
    return _computed(operation, _remainder)


def _computed(
    operation: ir.Operation, function: Callable[[TorchTensor, TorchTensor], TorchTensor]
) -> ir.Value | None:
    x, y = operation.operands
    kind = operation.result.type
    if operation.name.endswith(".Scalar"):
        divisor = number_of(y)
        if divisor is None or _is_power_of_two(divisor):
            return None
        if is_float(kind):
            y = literal(float(divisor), element_of(kind))
    if not is_float(kind) or not element_of(x.type) == element_of(y.type) == element_of(kind):
        return None
    return computed(function, [x, y], kind)


def _is_power_of_two(number: float) -> bool:
    """Returns whether all products with a number are exact."""
    return abs(math.frexp(number)[0]) == 0.5


def _remainder(x: TorchTensor, y: TorchTensor) -> TorchTensor:
    rest = _fmod(x, y)
    if_negative = y.compare("gt", 0.0).where(rest + y, rest)
    if_positive = y.compare("lt", 0.0).where(rest + y, rest)
    nonnegative = rest.compare("gt", 0.0).where(if_positive, rest)
    return rest.compare("lt", 0.0).where(if_negative, nonnegative)


def _fmod(x: TorchTensor, y: TorchTensor) -> TorchTensor:
    element = element_of(x.result)
    a, b = x.unary("abs"), y.unary("abs")
    quotient = (a / b).unary("floor")
    product = quotient * b
    plain = a - product
    rest = plain - _product_error(quotient, b, product, _BITS[element])
    rest = rest.compare("lt", 0.0).where(rest + b, rest)
    rest = rest.compare("ge", b).where(rest - b, rest)
    rest = quotient.compare("lt", 2.0 ** _BITS[element]).where(rest, plain)
    rest = b.compare("lt", _LARGEST[element]).where(rest, plain)
    # a - a is NaN for infinity.
    rest = b.compare("eq", math.inf).where(a + (a - a), rest)
    return x.compare("lt", 0.0).where(-rest, rest)


def _product_error(x: TorchTensor, y: TorchTensor, product: TorchTensor, bits: int) -> TorchTensor:
    """Returns the exact product minus the rounded one, by parts with half as many bits."""
    (high, low), (other_high, other_low) = (_split(each, bits) for each in (x, y))
    error = high * other_high - product
    return error + high * other_low + low * other_high + low * other_low


def _split(x: TorchTensor, bits: int) -> tuple[TorchTensor, TorchTensor]:
    scaled = x * (2.0 ** ((bits + 1) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high
