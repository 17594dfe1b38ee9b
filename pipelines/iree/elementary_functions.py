"""Replaces functions that IREE leaves to a library, or computes inaccurately, by arithmetic."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.elementary import functions, narrow, trigonometry
from pipelines.ir.expressions import Scalar, select
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.ir.powers import expand_power
from pipelines.pipeline import Step

# Replacements in f64, by the operation's name without its dialect.
_FUNCTIONS = {
    "acos": trigonometry.acos,
    "acosh": functions.acosh,
    "asin": trigonometry.asin,
    "asinh": functions.asinh,
    "atan": trigonometry.atan,
    "atan2": trigonometry.atan2,
    "atanh": functions.atanh,
    "cos": trigonometry.cos,
    "erf": functions.erf,
    "expm1": functions.expm1,
    "log10": functions.log10,
    "log1p": functions.log1p,
    "log2": functions.log2,
    "powf": functions.pow,
    "remf": functions.fmod,
    "sin": trigonometry.sin,
    "sinh": functions.sinh,
    "tan": trigonometry.tan,
    "tanh": functions.tanh,
}
_DIALECTS = ("math", "arith")


_NARROW_TYPES = (ir.F32Type, ir.F16Type, ir.BF16Type)
# Replacements for these types, computed in f64. For some arguments, far from zero or near it,
# IREE's own approximations are off by more than a few units in the last place, or infinite.
_NARROW = {
    "asin": narrow.asin,
    "atan": narrow.atan,
    "atanh": narrow.atanh,
    "cos": narrow.cos,
    "powf": narrow.pow,
    "sin": narrow.sin,
    "sinh": narrow.sinh,
    "tan": narrow.tan,
}


_LOSES_ZEROS = "math.erf"


def compute_elementary_functions(module: ir.Module) -> None:
    """Replaces scalar functions that are missing or inaccurate in IREE's CPU runtime, in place."""
    with module.context:
        replace_operations(find_operations(module, _is_replaced), _computed)


def _with_its_zeros(operation: ir.Operation) -> ir.Value:
    """Selects the operand where it is zero, because IREE's function loses negative zeros."""
    (x,) = operation.operands
    value = Scalar(operation.clone().operation.result)
    return select(Scalar(x).equals(0), Scalar(x), value).value


def _computed(operation: ir.Operation) -> ir.Value:
    if _loses_zeros(operation):
        return _with_its_zeros(operation)
    if operation.name == "math.powf" and (expanded := expand_power(operation)):
        return expanded
    wide = ir.F64Type.get()
    operands = [Scalar(operand).to(wide) for operand in operation.operands]
    return _function(operation)(*operands).to(operation.result.type).value


def _is_replaced(operation: ir.Operation) -> bool:
    return _loses_zeros(operation) or _function(operation) is not None


def _loses_zeros(operation: ir.Operation) -> bool:
    return operation.name == _LOSES_ZEROS and isinstance(operation.result.type, _NARROW_TYPES)


def _function(operation: ir.Operation) -> Callable[..., Scalar] | None:
    dialect, _, name = operation.name.partition(".")
    if dialect not in _DIALECTS or len(operation.results) != 1:
        return None
    if isinstance(operation.result.type, ir.F64Type):
        return _FUNCTIONS.get(name)
    return _NARROW.get(name) if isinstance(operation.result.type, _NARROW_TYPES) else None


ELEMENTARY_FUNCTIONS = Step(
    "iree-elementary-functions",
    "replace functions that are missing or inaccurate in IREE's CPU runtime",
    compute_elementary_functions,
)
