"""Computes `fmod` and `remainder` of floats at TOSA exactly, which has no division of floats.

torch-mlir subtracts the rounded product of the divisor and the quotient from the dividend. Beside a
multiple of the divisor, the quotient may be off by one, and 0.5 % 0.001 becomes 0 instead of nearly
0.001. Here, the product has an error term (T. J. Dekker, A floating-point technique for extending
the available precision, 1971), so that the difference is exact, and a quotient that is off by one
is corrected. Quotients with more digits than the dtype are as inexact as torch-mlir's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_operations import (
    element_of,
    float_constant,
    integer_constant,
    maker_of,
    shape_of,
    value_of,
)

# The number of bits of the significand. Narrower types are computed in f32.
_BITS = {"f32": 24, "f64": 53}
# Larger divisors may overflow when they are split.
_LARGEST = {"f32": 1e30, "f64": 1e290}
# PyTorch's numbers of the dtypes.
_FLOAT32 = 6
_NARROW = {"f16": 5, "bf16": 15}


def exact_fmod(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `fmod.Tensor` or `fmod.Scalar`; None for integers."""
    return _computed(operation, _fmod)


def exact_remainder(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `remainder.Tensor` or `remainder.Scalar`; None for integers."""
    return _computed(operation, _remainder)


@dataclass(frozen=True)
class _Tensor:
    """An expression of tensors in the torch dialect.

    Attributes:
        value: the tensor.
        result: the type of the results of operators on tensors of different shapes.
    """

    value: ir.Value
    result: ir.Type

    def __add__(self, other: _Tensor) -> _Tensor:
        return self._binary("add", other, integer_constant(1))

    def __sub__(self, other: _Tensor) -> _Tensor:
        return self._binary("sub", other, integer_constant(1))

    def __mul__(self, other: _Tensor | float) -> _Tensor:
        return self._binary("mul", other)

    def __truediv__(self, other: _Tensor) -> _Tensor:
        return self._binary("div", other)

    def __neg__(self) -> _Tensor:
        return self.unary("neg")

    def unary(self, name: str) -> _Tensor:
        return self._new(build_op(f"torch.aten.{name}", self.value.type, self.value))

    def compare(self, name: str, other: _Tensor | float) -> _Tensor:
        return self._binary(name, other, truths=True)

    def where(self, value: _Tensor, otherwise: _Tensor) -> _Tensor:
        operands = (self.value, value.value, otherwise.value)
        return self._new(build_op("torch.aten.where.self", self.result, *operands))

    def _binary(
        self, name: str, other: _Tensor | float, *rest: ir.Value, truths: bool = False
    ) -> _Tensor:
        kind = self.value.type
        if isinstance(other, _Tensor):
            name, operand = f"{name}.Tensor", other.value
            kind = kind if kind == operand.type else self.result
        else:
            name, operand = f"{name}.Scalar", float_constant(other)
        if truths:
            kind = f"{shape_of(kind)},i1>"
        return self._new(build_op(f"torch.aten.{name}", kind, self.value, operand, *rest))

    def _new(self, value: ir.Value) -> _Tensor:
        return _Tensor(value, self.result)


def _computed(operation: ir.Operation, function) -> ir.Value | None:
    x, y = operation.operands
    kind = operation.result.type
    element = element_of(kind)
    if element not in (*_BITS, *_NARROW):
        return None
    if operation.name.endswith(".Scalar"):
        is_constant = maker_of(y, "torch.constant.float") or maker_of(y, "torch.constant.int")
        if not is_constant or _is_power_of_two(value_of(y)):
            return None
        y = _literal(float(value_of(y)), element)
    if element in _NARROW:
        wide = ir.Type.parse(f"{shape_of(kind)},f32>")
        operands = [_Tensor(_cast(each, "f32", _FLOAT32), wide) for each in (x, y)]
        return _cast(function(*operands).value, element, _NARROW[element])
    if element_of(x.type) != element or element_of(y.type) != element:
        return None
    return function(_Tensor(x, kind), _Tensor(y, kind)).value


def _is_power_of_two(number: float) -> bool:
    """Returns whether all products with a number are exact."""
    return abs(math.frexp(number)[0]) == 0.5


def _literal(value: float, element: str) -> ir.Value:
    kind = ir.RankedTensorType.get([], ir.Type.parse(element))
    values = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, value))
    return build_op("torch.vtensor.literal", f"!torch.vtensor<[],{element}>", value=values)


def _cast(value: ir.Value, element: str, dtype: int) -> ir.Value:
    false = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))
    none = build_op("torch.constant.none", "!torch.none")
    kind = f"{shape_of(value.type)},{element}>"
    operands = (value, integer_constant(dtype), false, false, none)
    return build_op("torch.aten.to.dtype", kind, *operands)


def _remainder(x: _Tensor, y: _Tensor) -> _Tensor:
    rest = _fmod(x, y)
    if_negative = y.compare("gt", 0.0).where(rest + y, rest)
    if_positive = y.compare("lt", 0.0).where(rest + y, rest)
    nonnegative = rest.compare("gt", 0.0).where(if_positive, rest)
    return rest.compare("lt", 0.0).where(if_negative, nonnegative)


def _fmod(x: _Tensor, y: _Tensor) -> _Tensor:
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


def _product_error(x: _Tensor, y: _Tensor, product: _Tensor, bits: int) -> _Tensor:
    """Returns the exact product minus the rounded one, by parts with half as many bits."""
    (high, low), (other_high, other_low) = (_split(each, bits) for each in (x, y))
    error = high * other_high - product
    return error + high * other_low + low * other_high + low * other_low


def _split(x: _Tensor, bits: int) -> tuple[_Tensor, _Tensor]:
    scaled = x * (2.0 ** ((bits + 1) // 2) + 1)
    high = scaled - (scaled - x)
    return high, x - high
