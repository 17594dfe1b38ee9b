"""Computes functions at TOSA, which has exp, log, sin and cos.

torch-mlir subtracts 1 from `exp`, and takes the logarithm of 1 + x: close to 0, no digit is left.
Here, the results are corrected by the rounding error of the exponential or of the sum (W. Kahan;
see N. J. Higham, Accuracy and Stability of Numerical Algorithms, section 1.14). torch-mlir lowers
`atan`, but no other function below. Types narrower than f32 are computed in f32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.torch_expressions import TorchTensor, computed
from pipelines.ir.torch_operations import is_float


def exact_expm1(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `expm1`; None for integers."""
    return _computed(operation, _expm1)


def exact_log1p(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `log1p`; None for integers."""
    return _computed(operation, _log1p)


def exact_tan(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `tan`; None for integers."""
    return _computed(operation, lambda x: x.unary("sin") / x.unary("cos"))


def sinh(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `sinh`; None for integers."""
    return _computed(operation, _sinh)


def cosh(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `cosh`; None for integers."""
    return _computed(operation, _cosh)


def atanh(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `atanh`; None for integers."""
    return _computed(operation, _atanh)


def asin(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `asin`; None for integers."""
    return _computed(operation, _asin)


def acos(operation: ir.Operation) -> ir.Value | None:
    """Returns the value of `acos`; None for integers."""
    return _computed(operation, _acos)


def _computed(
    operation: ir.Operation, function: Callable[[TorchTensor], TorchTensor]
) -> ir.Value | None:
    (x,) = operation.operands
    kind = operation.result.type
    return computed(function, [x], kind) if x.type == kind and is_float(kind) else None


def _expm1(x: TorchTensor) -> TorchTensor:
    power = x.unary("exp")
    value = power - 1.0
    corrected = value * (x / power.unary("log"))
    # Outside of (-1, 1), the logarithm may be infinite, and the difference loses few digits.
    near = x.compare("gt", -1.0).where(x.compare("lt", 1.0).where(corrected, value), value)
    return power.compare("eq", 1.0).where(x, near)


def _log1p(x: TorchTensor) -> TorchTensor:
    total = x + 1.0
    value = total.unary("log")
    corrected = value * (x / (total - 1.0))
    near = x.compare("lt", 1.0).where(corrected, value)
    return total.compare("eq", 1.0).where(x, near)


def _sinh(x: TorchTensor) -> TorchTensor:
    size = x.unary("abs")
    less = _expm1(size)
    near = (less + less / (less + 1.0)) * 0.5
    # The square of the root is finite where the exponential is not, but its half is.
    root = (size * 0.5).unary("exp")
    value = size.compare("lt", 9.0).where(near, (root * 0.5) * root)
    return x.compare("lt", 0.0).where(-value, value)


def _cosh(x: TorchTensor) -> TorchTensor:
    root = (x.unary("abs") * 0.5).unary("exp")
    inverse = root.unary("reciprocal")
    return (root * 0.5) * root + (inverse * 0.5) * inverse


def _atanh(x: TorchTensor) -> TorchTensor:
    size = x.unary("abs")
    value = _log1p((size * 2.0) / (-size + 1.0)) * 0.5
    return x.compare("lt", 0.0).where(-value, value)


def _asin(x: TorchTensor) -> TorchTensor:
    root = _root((-x + 1.0) * (x + 1.0))
    return (x / (root + 1.0)).unary("atan") * 2.0


def _acos(x: TorchTensor) -> TorchTensor:
    return _root((-x + 1.0) / (x + 1.0)).unary("atan") * 2.0


def _root(x: TorchTensor) -> TorchTensor:
    """Returns the square root. torch-mlir's is infinite for -inf."""
    return x.compare("ge", 0.0).where(x.unary("sqrt"), x - x + math.nan)
