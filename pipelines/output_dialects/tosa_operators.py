"""Rewrites operators that torch-mlir does not lower to TOSA, or whose lowering loses special values
or digits.

- `relu` is limited to the largest finite number, so that infinity becomes finite. Of integers, it
  has no lowering, and becomes a maximum.
- torch-mlir computes the minimum of integers from their negatives. MLIR does not lower negatives of
  i64 to linalg.
- `sqrt` is a power with exponent 0.5, which is infinite for -inf; eager returns NaN.
- `fmod`, `remainder` and quotients that are rounded to integers are inexact (`tosa_divisions.py`).
- `expm1`, `log1p` and `tan` lose digits; `sinh`, `cosh`, `atanh`, `asin` and `acos` have no
  lowering (`tosa_functions.py`).
- Conversions between f16 and bf16 become a cast that has no lowering to linalg.
- A product with zero is folded to zero; eager returns NaN for infinity and NaN.
- Sums of i64 are computed in i32 (`tosa_i64.py`).
- Scalars are rounded to f32, also if the tensor is f64 (`tosa_f64.py`).
- `empty` has no lowering. It becomes zeros.
- Shifts by a number have no lowering. They become shifts by a tensor (`operators.py`).
- `diagonal` is a product with zeros and ones, which is NaN for infinity and NaN. Constant indices
  select its elements (`operators.py`).
- TOSA has no tensors without elements. They are removed from `cat`.
"""

from __future__ import annotations

import math

from torch_mlir import ir

from pipelines.ir.modules import build_op, erase_without_users, find_operations
from pipelines.ir.torch_expressions import cast, literal
from pipelines.ir.torch_operations import (
    element_of,
    from_builtin,
    integer_constant,
    is_float,
    load_dialects,
    number_of,
    rewrite,
    sizes_of,
    to_builtin,
)
from pipelines.ir.values import producer_named
from pipelines.output_dialects.dynamic_pools import refuse_for_tosa
from pipelines.output_dialects.operators import diagonal, shift_by_number
from pipelines.output_dialects.tosa_divisions import (
    exact_fmod,
    exact_quotient,
    exact_remainder,
    truncated_quotient,
)
from pipelines.output_dialects.tosa_f64 import keep_f64_scalars
from pipelines.output_dialects.tosa_functions import (
    acos,
    asin,
    atanh,
    cosh,
    exact_expm1,
    exact_log1p,
    exact_tan,
    sinh,
)
from pipelines.output_dialects.tosa_i64 import keep_i64_sums

_VARIANTS = ("Tensor", "Scalar")
_EMPTY, _LIST = "torch.aten.empty.memory_format", "torch.prim.ListConstruct"


def rewrite_for_tosa(module: ir.Module) -> None:
    """Rewrites a module at `torch` in place, for TOSA.

    Raises:
        Error: stage `tosa`, for a pooling with strides and a dynamic number of windows.
    """
    refuse_for_tosa(module)
    if find_operations(module, lambda operation: operation.name == "torch.aten.relu"):
        load_dialects(module, "convert-torch-to-tosa")
    rewrite(
        module,
        {
            "torch.aten.mul.Scalar": _product_with_zero,
            "torch.aten.relu": _relu,
            "torch.aten.min.dim": _minimum_of_integers,
            "torch.aten.sqrt": _sqrt,
            "torch.aten.pow.Tensor_Scalar": _power,
            "torch.aten.to.dtype": _conversion_through_f32,
            "torch.aten.expm1": exact_expm1,
            "torch.aten.log1p": exact_log1p,
            "torch.aten.tan": exact_tan,
            **{f"torch.aten.{each.__name__}": each for each in (sinh, cosh, atanh, asin, acos)},
            _EMPTY: _zeros,
            "torch.aten.cat": _without_empty_parts,
            "torch.aten.diagonal": diagonal,
            "torch.aten.__rshift__.Scalar": shift_by_number,
            "torch.aten.__lshift__.Scalar": shift_by_number,
            **{f"torch.aten.div.{variant}": exact_quotient for variant in _VARIANTS},
            "torch.aten.div.Tensor_mode": truncated_quotient,
            **{f"torch.aten.fmod.{variant}": exact_fmod for variant in _VARIANTS},
            **{f"torch.aten.remainder.{variant}": exact_remainder for variant in _VARIANTS},
        },
    )
    erase_without_users(find_operations(module, lambda each: each.name in (_LIST, _EMPTY)))
    keep_i64_sums(module)
    keep_f64_scalars(module)


def _relu(operation: ir.Operation) -> ir.Value | None:
    (x,) = operation.operands
    if not is_float(x.type):
        zero = literal(0, element_of(x.type))
        return build_op("torch.aten.maximum", x.type, x, zero)
    number = ir.Type.parse(element_of(x.type))
    bounds = {
        "min_val": ir.FloatAttr.get(number, 0.0),
        "max_val": ir.FloatAttr.get(number, math.inf),
    }
    tensor = to_builtin(x)
    return from_builtin(build_op("tosa.clamp", tensor.type, tensor, **bounds), x.type)


def _minimum_of_integers(operation: ir.Operation) -> list[ir.Value] | None:
    """Computes a minimum and its index from the maximum of all bits inverted."""
    x, *others = operation.operands
    if is_float(x.type):
        return None
    kinds = [result.type for result in operation.results]
    operands = [build_op("torch.aten.bitwise_not", x.type, x), *others]
    number, place = ir.Operation.create("torch.aten.max.dim", kinds, operands).results
    return [build_op("torch.aten.bitwise_not", kinds[0], number), place]


def _sqrt(operation: ir.Operation) -> None:
    """Replaces operands below -1 by -1."""
    x = operation.operands[0]
    if is_float(x.type):
        lowest = literal(-1.0, element_of(x.type))
        operation.operands[0] = build_op("torch.aten.maximum", x.type, x, lowest)


def _power(operation: ir.Operation) -> None:
    """Handles the exponent 0.5 like a square root."""
    if number_of(operation.operands[1]) == 0.5:
        _sqrt(operation)


def _conversion_through_f32(conversion: ir.Operation) -> None:
    """Converts f16 to f32 before it becomes bf16, and the other way round."""
    x = conversion.operands[0]
    if {element_of(x.type), element_of(conversion.result.type)} == {"f16", "bf16"}:
        conversion.operands[0] = cast(x, "f32")


def _product_with_zero(operation: ir.Operation) -> ir.Value | None:
    x, factor = operation.operands
    if not is_float(x.type) or number_of(factor) != 0:
        return None
    return build_op("torch.aten.sub.Tensor", operation.result.type, x, x, integer_constant(1))


def _zeros(operation: ir.Operation) -> ir.Value | None:
    sizes, element = sizes_of(operation.result.type), element_of(operation.result.type)
    # `cat` is the only user of results without elements, see `_without_empty_parts`.
    if None in sizes or 0 in sizes or element.startswith(("complex", "ui")):
        return None
    return literal(0, element, sizes)


def _without_empty_parts(operation: ir.Operation) -> ir.Value | None:
    parts = producer_named(operation.operands[0], _LIST)
    if parts is None:
        return None
    kept = [part for part in parts.operands if 0 not in sizes_of(part.type)]
    if len(kept) == len(parts.operands) or not kept:
        return None
    if len(kept) == 1 and kept[0].type == operation.result.type:
        return kept[0]
    operation.operands[0] = build_op(_LIST, parts.result.type, *kept)
    return None
