"""Rewrites operators whose lowering to TOSA by torch-mlir loses special values or digits.

- `relu` is limited to the largest finite number, so that infinity becomes finite.
- `sqrt` is a power with exponent 0.5, which is infinite for -inf; eager returns NaN.
- `fmod` and `remainder` are inexact, and NaN for an infinite divisor (`tosa_remainders.py`).
- `expm1`, `log1p` and `tan` lose digits (`tosa_functions.py`).
- Conversions between f16 and bf16 become a cast that has no lowering to linalg.
- A product with zero is folded to zero; eager returns NaN for infinity and NaN.
- Sums, differences and negations of i64 are computed in i32.
- Scalars are rounded to f32, also if the tensor is f64.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    builtin_type,
    element_of,
    from_builtin,
    integer_constant,
    is_float,
    load_dialects,
    maker_of,
    rewrite,
    shape_of,
    sizes_of,
    to_builtin,
    value_of,
)
from pipelines.output_dialects.tosa_functions import exact_expm1, exact_log1p, exact_tan
from pipelines.output_dialects.tosa_remainders import exact_fmod, exact_remainder

_VARIANTS = ("Tensor", "Scalar")
# Operators with a variant for a scalar, `.Scalar`, and one for two tensors, `.Tensor`.
_BINARY = ("add", "sub", "mul", "div", "eq", "ne", "lt", "le", "gt", "ge")
_SCALAR_VARIANTS = {
    **{f"torch.aten.{name}.Scalar": f"torch.aten.{name}.Tensor" for name in _BINARY},
    "torch.aten.pow.Tensor_Scalar": "torch.aten.pow.Tensor_Tensor",
}
_ADDITIONS = ("torch.aten.add.Tensor", "torch.aten.add.Scalar")
_INTEGER_SUMS = (
    *_ADDITIONS,
    "torch.aten.sub.Tensor",
    "torch.aten.sub.Scalar",
    "torch.aten.neg",
)
# Operators that may be replaced by operations of TOSA.
_BUILT_AT_TOSA = ("torch.aten.relu", *_INTEGER_SUMS)
# Operators that multiply the second operand by a scalar.
_SUMS = ("torch.aten.add.Tensor", "torch.aten.sub.Tensor")


def rewrite_for_tosa(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place, for TOSA."""
    if find_operations(module, lambda operation: operation.name in _BUILT_AT_TOSA):
        load_dialects(module, "convert-torch-to-tosa")
    rewrite(module, {"torch.aten.gelu": _gelu_in_f64, "torch.aten.log2": _log2_in_f64})
    rewrite(
        module,
        {
            "torch.aten.mul.Scalar": _product_with_zero,
            "torch.aten.relu": _relu,
            "torch.aten.sqrt": _sqrt,
            "torch.aten.pow.Tensor_Scalar": _power,
            **dict.fromkeys(_INTEGER_SUMS, _sum_of_i64),
            "torch.aten.to.dtype": _conversion_through_f32,
            "torch.aten.expm1": exact_expm1,
            "torch.aten.log1p": exact_log1p,
            "torch.aten.tan": exact_tan,
            **{f"torch.aten.fmod.{variant}": exact_fmod for variant in _VARIANTS},
            **{f"torch.aten.remainder.{variant}": exact_remainder for variant in _VARIANTS},
        },
    )
    rewrite(module, dict.fromkeys(_SCALAR_VARIANTS, _with_f64_tensor))
    rewrite(
        module,
        {
            "torch.aten.pow.Scalar": _power_of_f64_tensor,
            "torch.aten.arange.start_step": _arange_of_f64,
            **dict.fromkeys(_SUMS, _sum_of_f64_product),
        },
    )


def _relu(operation: ir.Operation) -> ir.Value | None:
    (x,) = operation.operands
    if not is_float(x.type):
        return None
    number = ir.Type.parse(element_of(x.type))
    bounds = {
        "min_val": ir.FloatAttr.get(number, 0.0),
        "max_val": ir.FloatAttr.get(number, math.inf),
    }
    tensor = to_builtin(x)
    return from_builtin(build_op("tosa.clamp", tensor.type, tensor, **bounds), x.type)


def _sqrt(operation: ir.Operation) -> None:
    """Replaces operands below -1 by -1."""
    x = operation.operands[0]
    if is_float(x.type):
        lowest = literal(-1.0, element_of(x.type))
        operation.operands[0] = build_op("torch.aten.maximum", x.type, x, lowest)


def _power(operation: ir.Operation) -> None:
    """Handles the exponent 0.5 like a square root."""
    if _constant(operation.operands[1]) == 0.5:
        _sqrt(operation)


def _sum_of_i64(operation: ir.Operation) -> ir.Value | None:
    kind = operation.result.type
    x, *others = operation.operands
    if element_of(kind) != "si64":
        return None
    if not others:
        # A negation subtracts from zero.
        x, y = _i64(0), x
    else:
        y, factor = others
        if None in (_constant(factor), 0 if _is_tensor(y) else _constant(y)):
            return None
        y = _as_i64(y) if _is_tensor(y) else _i64(_constant(y))
        if _constant(factor) != 1:
            y = build_op("torch.aten.mul.Scalar", y.type, y, factor)
    x = _as_i64(x)
    name = "tosa.add" if operation.name in _ADDITIONS else "tosa.sub"
    rank = len(sizes_of(kind))
    operands = (to_builtin(_with_rank(each, rank)) for each in (x, y))
    return from_builtin(build_op(name, builtin_type(kind), *operands), kind)


def _is_tensor(value: ir.Value) -> bool:
    return str(value.type).startswith("!torch.vtensor")


def _as_i64(x: ir.Value) -> ir.Value:
    return x if element_of(x.type) == "si64" else cast(x, "si64")


def _with_rank(x: ir.Value, rank: int) -> ir.Value:
    """Adds axes of size 1 at the front; TOSA requires operands of equal rank."""
    for _ in range(rank - len(sizes_of(x.type))):
        sizes = shape_of(x.type).partition("[")[2].rstrip("]")
        kind = f"!torch.vtensor<[{','.join(filter(None, ['1', sizes]))}],si64>"
        x = build_op("torch.aten.unsqueeze", kind, x, integer_constant(0))
    return x


def _conversion_through_f32(conversion: ir.Operation) -> None:
    """Converts f16 to f32 before it becomes bf16, and the other way round."""
    x = conversion.operands[0]
    if {element_of(x.type), element_of(conversion.result.type)} == {"f16", "bf16"}:
        conversion.operands[0] = cast(x, "f32")


def _product_with_zero(operation: ir.Operation) -> ir.Value | None:
    x, factor = operation.operands
    if not is_float(x.type) or _constant(factor) != 0:
        return None
    return build_op("torch.aten.sub.Tensor", operation.result.type, x, x, integer_constant(1))


def _with_f64_tensor(operation: ir.Operation) -> ir.Value | None:
    """Replaces the scalar of an operator on f64 by a tensor without dimensions."""
    x, scalar, *rest = operation.operands
    if element_of(x.type) != "f64" or maker_of(scalar, "torch.constant.float") is None:
        return None
    name = _SCALAR_VARIANTS[operation.name]
    return build_op(name, operation.result.type, x, _f64(value_of(scalar)), *rest)


def _power_of_f64_tensor(operation: ir.Operation) -> ir.Value | None:
    base, exponent = operation.operands
    if element_of(exponent.type) != "f64" or _constant(base) is None:
        return None
    name = "torch.aten.pow.Tensor_Tensor"
    return build_op(name, operation.result.type, _f64(value_of(base)), exponent)


def _arange_of_f64(operation: ir.Operation) -> ir.Value | None:
    kind = operation.result.type
    start, _, step, *_ = operation.operands
    (size,) = sizes_of(kind)
    if element_of(kind) != "f64" or None in (size, _constant(start), _constant(step)):
        return None
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    numbers = _constant(start) + _constant(step) * np.arange(size, dtype=np.float64)
    return build_op("torch.vtensor.literal", kind, value=ir.DenseElementsAttr.get(numbers))


def _sum_of_f64_product(operation: ir.Operation) -> None:
    y, factor = operation.operands[1:]
    if element_of(y.type) == "f64" and maker_of(factor, "torch.constant.float"):
        if value_of(factor) != 1:
            product = build_op("torch.aten.mul.Tensor", y.type, y, _f64(value_of(factor)))
            operation.operands[1] = product
        operation.operands[2] = integer_constant(1)


def _log2_in_f64(operation: ir.Operation) -> ir.Value | None:
    (x,) = operation.operands
    if element_of(x.type) != "f64":
        return None
    logarithm = build_op("torch.aten.log", x.type, x)
    return build_op("torch.aten.mul.Tensor", x.type, logarithm, _f64(1 / math.log(2)))


def _gelu_in_f64(operation: ir.Operation) -> ir.Value | None:
    x, approximation = operation.operands
    kind = operation.result.type
    if element_of(x.type) != "f64":
        return None

    def times(value: ir.Value, factor: ir.Value) -> ir.Value:
        return build_op("torch.aten.mul.Tensor", kind, value, factor)

    def plus(value: ir.Value, term: ir.Value) -> ir.Value:
        return build_op("torch.aten.add.Tensor", kind, value, term, integer_constant(1))

    if value_of(approximation) == "none":
        share = build_op("torch.aten.erf", kind, times(x, _f64(math.sqrt(0.5))))
    else:
        cubic = plus(x, times(times(times(x, x), x), _f64(0.044715)))
        share = build_op("torch.aten.tanh", kind, times(cubic, _f64(math.sqrt(2 / math.pi))))
    return times(times(x, _f64(0.5)), plus(share, _f64(1.0)))


def _i64(value: int) -> ir.Value:
    """Creates an integer tensor without dimensions."""
    number = ir.IntegerType.get_signed(64)
    kind = ir.RankedTensorType.get([], number)
    values = ir.DenseElementsAttr.get_splat(kind, ir.IntegerAttr.get(number, value))
    return build_op("torch.vtensor.literal", "!torch.vtensor<[],si64>", value=values)


def _f64(value: float) -> ir.Value:
    return literal(value, "f64")


def _constant(value: ir.Value) -> float | None:
    """Returns the value of a constant number; None for other values."""
    names = ("torch.constant.int", "torch.constant.float")
    return value_of(value) if any(maker_of(value, name) for name in names) else None
