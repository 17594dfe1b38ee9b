"""Computes `fmod`, `remainder` and rounded quotients at TOSA, which has no division of floats.

torch-mlir multiplies by the reciprocal, so a quotient may be wrong in its last digit. 41 / 41 is
slightly below 1, and rounded down it is 0. Quotients that are rounded to integers are corrected by
the exact remainder. The others are not, because it takes more than twenty operations.

For a remainder, torch-mlir subtracts the rounded product of the divisor and the quotient from the
dividend. Beside a multiple of the divisor, the quotient may be off by one, and 0.5 % 0.001 becomes
0 instead of nearly 0.001. Here, the product has an error term (T. J. Dekker, A floating-point
technique for extending the available precision, 1971), so that the difference is exact, and a
quotient that is off by one is corrected. Quotients with more digits than the dtype are as inexact
as torch-mlir's.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.torch_expressions import TorchTensor, cast, computed, literal
from pipelines.ir.torch_operations import element_of, is_float, number_of, shape_of

# The number of bits of the significand.
_BITS = {"f32": 24, "f64": 53}
_ROUNDINGS = tuple(f"torch.aten.{name}" for name in ("floor", "ceil", "trunc", "round"))
# Larger divisors may overflow when they are split.
_LARGEST = {"f32": 1e30, "f64": 1e290}


def exact_fmod(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `fmod.Tensor` or `fmod.Scalar`; None for integers."""
    return _computed(operation, _fmod)


def exact_remainder(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `remainder.Tensor` or `remainder.Scalar`; None for integers."""
    return _computed(operation, _remainder)


def exact_quotient(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `div.Tensor` or `div.Scalar`; None if nothing rounds the quotient."""
    if not any(_rounds(use.owner) for use in operation.result.uses):
        return None
    return _divided(operation)


def truncated_quotient(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `div.Tensor_mode` that rounds toward zero; None for other modes."""
    mode = operation.operands[2].owner.operation
    if ir.StringAttr(mode.attributes["value"]).value != "trunc":
        return None
    quotient = _divided(operation)
    return None if quotient is None else _truncated(TorchTensor(quotient, quotient.type)).value


def _rounds(user: ir.Operation) -> bool:
    """Returns whether an operation rounds its operand to an integer."""
    name = user.operation.name
    to_integer = name == "torch.aten.to.dtype" and not is_float(user.operation.results[0].type)
    return to_integer or name in _ROUNDINGS


def _divided(operation: ir.Operation) -> ir.Value | None:
    """Returns the quotient of floats, computed in f32 or f64 as in eager; None for integers."""
    kind = operation.result.type
    if not is_float(kind):
        return None
    element = element_of(kind)
    wide = element if element in _BITS else "f32"
    x, y = list(operation.operands)[:2]
    if operation.name.endswith(".Scalar"):
        divisor = number_of(y)
        if divisor is None or _is_power_of_two(divisor):
            return None
        y = literal(float(divisor), wide)
    result = ir.Type.parse(f"{shape_of(kind)},{wide}>")
    quotient = _quotient(*(TorchTensor(_as(value, wide), result) for value in (x, y))).value
    return _as(quotient, element)


def _as(value: ir.Value, element: str) -> ir.Value:
    return value if element_of(value.type) == element else cast(value, element)


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


def _quotient(x: TorchTensor, y: TorchTensor) -> TorchTensor:
    quotient = x / y
    product = quotient * y
    rest = x - product - _product_error(quotient, y, product, _BITS[element_of(x.result)])
    size = rest.unary("abs")
    # It is NaN for infinities and for numbers that cannot be split.
    is_finite = size.compare("lt", math.inf)
    corrected = is_finite.where(quotient + rest / y, quotient)
    # If it is 0, the quotient is exact, and keeps the sign of its zero.
    return size.compare("eq", 0.0).where(quotient, corrected)


def _truncated(x: TorchTensor) -> TorchTensor:
    return x.compare("lt", 0.0).where(-(-x).unary("floor"), x.unary("floor"))


def _product_error(x: TorchTensor, y: TorchTensor, product: TorchTensor, bits: int) -> TorchTensor:
    """Returns the exact product minus the rounded one, by parts with half as many bits."""
    (high, low), (other_high, other_low) = (_split(each, bits) for each in (x, y))
    error = high * other_high - product
    return error + high * other_low + low * other_high + low * other_low


def _split(x: TorchTensor, bits: int) -> tuple[TorchTensor, TorchTensor]:
    scaled = x * (2.0 ** ((bits + 1) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high
