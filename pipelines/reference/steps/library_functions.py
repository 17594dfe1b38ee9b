"""Replaces functions of the C library by arithmetic in f64, so that LLVM can vectorize loops.

The C library's functions are called once for each element. `pipelines/elementary` has the
definitions. `elementary_functions.py` replaces exp, expm1, erf and tanh of f32 earlier, by
arithmetic in f32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch_mlir import ir

from pipelines.elementary import functions, narrow
from pipelines.ir.expressions import Scalar, branch
from pipelines.ir.generics import is_reduction
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.reference.analysis.effort import computed_elements
from pipelines.reference.steps.llvm_attributes import is_short

# Minimum number of elements of an operation. With the arithmetic, compiling it takes 10 to 30 ms
# longer, and an element 5 to 15 ns less.
_MANY = 1 << 14
# By the name of the operation: functions of f32, f16 and bf16.
_NARROW: dict[str, Callable[..., Scalar]] = {
    "arith.remf": partial(narrow.fmod, when=branch),
    "math.acos": narrow.acos,
    "math.acosh": narrow.acosh,
    "math.asin": narrow.asin,
    "math.asinh": narrow.asinh,
    "math.atan": narrow.atan,
    "math.atanh": narrow.atanh,
    "math.atan2": narrow.atan2,
    "math.cos": partial(narrow.cos, when=branch),
    "math.cosh": narrow.cosh,
    "math.exp2": narrow.exp2,
    "math.log": narrow.log,
    "math.log10": narrow.log10,
    "math.log1p": narrow.log1p,
    "math.log2": narrow.log2,
    "math.powf": narrow.pow,
    "math.sin": partial(narrow.sin, when=branch),
    "math.sinh": narrow.sinh,
    "math.tan": partial(narrow.tan, when=branch),
}
# The C library computes these in 1 to 2 ns. Loops without vectors take longer for the arithmetic.
_FAST = ("math.log", "math.log2")
# Functions of f64 in operations that neither read nor write f64. Their errors are a few units in
# the last place.
_WIDE: dict[str, Callable[..., Scalar]] = {
    "math.exp": functions.exp,
    "math.log": functions.log,
    "math.log1p": functions.log1p,
}


def replace_library_functions(module: ir.Module) -> None:
    """Replaces functions in linalg operations with many elements, in place."""
    with module.context, ir.Location.unknown():
        for generic in find_operations(module, _is_large):
            left = _FAST if is_reduction(generic) and is_short(generic) else ()
            table = {name: _NARROW[name] for name in _NARROW if name not in left}
            _replace(generic, table, (ir.F32Type, ir.F16Type, ir.BF16Type))
            if not any(isinstance(each.type, ir.F64Type) for each in _elements(generic)):
                _replace(generic, _WIDE, (ir.F64Type,))


def _is_large(operation: ir.Operation) -> bool:
    return operation.name == "linalg.generic" and computed_elements(operation) >= _MANY


def _elements(generic: ir.Operation) -> ir.BlockArgumentList:
    return generic.regions[0].blocks[0].arguments


def _replace(
    generic: ir.Operation, table: dict[str, Callable[..., Scalar]], kinds: tuple[type[ir.Type], ...]
) -> None:
    def is_replaced(operation: ir.Operation) -> bool:
        return operation.name in table and isinstance(operation.result.type, kinds)

    replace_operations(
        find_operations(generic, is_replaced),
        lambda operation: _computed(operation, table[operation.name]),
    )


def _computed(operation: ir.Operation, function: Callable[..., Scalar]) -> ir.Value:
    """Returns the function's value. 16-bit floats are converted to f32 before, and after."""
    kind = operation.result.type
    single = kind if isinstance(kind, ir.F64Type) else ir.F32Type.get()
    operands = [Scalar(each).to(single).to(ir.F64Type.get()) for each in operation.operands]
    return function(*operands).to(single).to(kind).value
