"""Expands exp, expm1, erf, tanh and powers, so that LLVM can vectorize loops over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch_mlir import ir

from pipelines.ir.expressions import Scalar
from pipelines.ir.lazy_dialects import func
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.ir.powers import expand_power

_FILE = Path(__file__).with_suffix(".mlir")
_PREFIX = "unmess_elementary_"


def expand_elementary_functions(module: ir.Module) -> None:
    """Replaces exp, expm1, erf and tanh on f32, f16 and bf16 with calls, and powers with products.

    Adds the called functions to the module as private functions, which must be inlined. f64 keeps
    the C library's functions, except for expm1, which MLIR would lower to the imprecise e^x - 1.
    `elementary_functions.mlir` has the definitions and their errors.
    """
    found = find_operations(module, lambda operation: operation.name in _EXPANSIONS)
    with module.context, ir.Location.unknown():
        if any(operation.name != "math.powf" for operation in found):
            _add_definitions(module)
        replace_operations(found, lambda operation: _EXPANSIONS[operation.name](operation))


def _call(operation: ir.Operation) -> ir.Value | None:
    value, single = operation.operands[0], ir.F32Type.get()
    if not isinstance(value.type, ir.F32Type | ir.F16Type | ir.BF16Type):
        return None
    name = _PREFIX + operation.name.removeprefix("math.")
    result = func.CallOp([single], name, [Scalar(value).to(single).value]).result
    return Scalar(result).to(value.type).value


def _expm1(operation: ir.Operation) -> ir.Value | None:
    x = Scalar(operation.operands[0])
    if not isinstance(x.value.type, ir.F64Type):
        return _call(operation)
    return ((x * 0.5).math("tanh") * (x.math("exp") + 1)).value


_EXPANSIONS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "math.exp": _call,
    "math.expm1": _expm1,
    "math.erf": _call,
    "math.tanh": _call,
    "math.powf": expand_power,
}


def _add_definitions(module: ir.Module) -> None:
    text = _FILE.read_text()
    for name in ("exp", "erf", "tanh", "expm1"):
        text = text.replace(f"@{name}(", f"@{_PREFIX}{name}(")
    for function in ir.Module.parse(text).body.operations:
        function.operation.clone(ip=ir.InsertionPoint(module.body))
