"""Keeps the digits of scalars in f64 at TOSA. torch-mlir rounds all scalars to f32.

A scalar becomes a tensor without dimensions, whose value torch-mlir keeps.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_expressions import TorchTensor, literal
from pipelines.ir.torch_operations import (
    element_of,
    integer_constant,
    number_of,
    rewrite,
    sizes_of,
    value_of,
)
from pipelines.ir.values import producer_named

# Operators with a variant for a scalar, `.Scalar`, and one for two tensors, `.Tensor`.
_BINARY = ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge")
_SCALAR_VARIANTS = {
    **{f"torch.aten.{name}.Scalar": f"torch.aten.{name}.Tensor" for name in _BINARY},
    "torch.aten.pow.Tensor_Scalar": "torch.aten.pow.Tensor_Tensor",
}
# Operators that multiply the second operand by a scalar.
_SUMS = ("torch.aten.add.Tensor", "torch.aten.sub.Tensor")


def keep_f64_scalars(module: ir.Module) -> None:
    """Rewrites operators on f64 in a module at `torch`, in place.

    torch-mlir's lowerings of `gelu` and `log2` have scalars, too, so both are decomposed first.
    """
    rewrite(module, {"torch.aten.gelu": _gelu, "torch.aten.log2": _log2})
    rewrite(
        module,
        {
            "torch.aten.arange.start_step": _arange,
            "torch.aten.pow.Scalar": _power_of_a_scalar,
            **dict.fromkeys(_SUMS, _sum_of_product),
            **dict.fromkeys(_SCALAR_VARIANTS, _with_tensor),
        },
    )


def _with_tensor(operation: ir.Operation) -> ir.Value | None:
    """Replaces the scalar of an operator on f64 by a tensor without dimensions."""
    x, scalar, *rest = operation.operands
    if element_of(x.type) != "f64" or producer_named(scalar, "torch.constant.float") is None:
        return None
    name = _SCALAR_VARIANTS[operation.name]
    return build_op(name, operation.result.type, x, _f64(value_of(scalar)), *rest)


def _power_of_a_scalar(operation: ir.Operation) -> ir.Value | None:
    base, exponent = operation.operands
    if element_of(exponent.type) != "f64" or number_of(base) is None:
        return None
    name = "torch.aten.pow.Tensor_Tensor"
    return build_op(name, operation.result.type, _f64(value_of(base)), exponent)


def _arange(operation: ir.Operation) -> ir.Value | None:
    kind = operation.result.type
    start, _, step, *_ = operation.operands
    (size,) = sizes_of(kind)
    if element_of(kind) != "f64" or None in (size, number_of(start), number_of(step)):
        return None
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    numbers = number_of(start) + number_of(step) * np.arange(size, dtype=np.float64)
    return build_op("torch.vtensor.literal", kind, value=ir.DenseElementsAttr.get(numbers))


def _sum_of_product(operation: ir.Operation) -> None:
    y, factor = operation.operands[1:]
    if element_of(y.type) == "f64" and producer_named(factor, "torch.constant.float"):
        if value_of(factor) != 1:
            product = build_op("torch.aten.mul.Tensor", y.type, y, _f64(value_of(factor)))
            operation.operands[1] = product
        operation.operands[2] = integer_constant(1)


def _log2(operation: ir.Operation) -> ir.Value | None:
    x = TorchTensor(operation.operands[0], operation.result.type)
    if element_of(x.result) != "f64":
        return None
    return (x.unary("log") * (1 / math.log(2))).value


def _gelu(operation: ir.Operation) -> ir.Value | None:
    x = TorchTensor(operation.operands[0], operation.result.type)
    if element_of(x.result) != "f64":
        return None
    if value_of(operation.operands[1]) == "none":
        share = (x * math.sqrt(0.5)).unary("erf")
    else:
        share = ((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)).unary("tanh")
    return (x * 0.5 * (share + 1.0)).value


def _f64(value: float) -> ir.Value:
    return literal(value, "f64")
