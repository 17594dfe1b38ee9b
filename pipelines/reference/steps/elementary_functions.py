"""Expands exp, expm1, erf, tanh and powers, so that LLVM can vectorize loops over them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func, math
from pipelines.ir.modules import find_operations, replace_operations

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
    value = operation.operands[0]
    single = ir.F32Type.get()
    if not isinstance(value.type, ir.F32Type | ir.F16Type | ir.BF16Type):
        return None
    narrow = value.type
    if narrow != single:
        value = arith.ExtFOp(single, value).result
    name = _PREFIX + operation.name.removeprefix("math.")
    value = func.CallOp([single], name, [value]).result
    return value if narrow == single else arith.TruncFOp(narrow, value).result


def _expm1(operation: ir.Operation) -> ir.Value | None:
    value = operation.operands[0]
    if not isinstance(value.type, ir.F64Type):
        return _call(operation)
    one, half = (
        arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, number)).result
        for number in (1.0, 0.5)
    )
    quotient = math.TanhOp(arith.MulFOp(value, half).result).result
    return arith.MulFOp(quotient, arith.AddFOp(math.ExpOp(value).result, one).result).result


def _power(operation: ir.Operation) -> ir.Value | None:
    """Expands the exponents that eager's kernel special-cases, in the same way."""
    base, exponent = operation.operands
    if isinstance(exponent.owner, ir.Block) or exponent.owner.operation.name != "arith.constant":
        return None
    number = exponent.owner.operation.attributes["value"]
    if not isinstance(number, ir.FloatAttr):
        return None
    expansion = _POWERS.get(number.value)
    return None if expansion is None else expansion(base)


def _reciprocal(value: ir.Value) -> ir.Value:
    one = arith.ConstantOp(value.type, ir.FloatAttr.get(value.type, 1.0)).result
    return arith.DivFOp(one, value).result


def _square(value: ir.Value) -> ir.Value:
    return arith.MulFOp(value, value).result


_POWERS: dict[float, Callable[[ir.Value], ir.Value]] = {
    0.5: lambda base: math.SqrtOp(base).result,
    2.0: _square,
    3.0: lambda base: arith.MulFOp(_square(base), base).result,
    -0.5: lambda base: _reciprocal(math.SqrtOp(base).result),
    -1.0: _reciprocal,
    -2.0: lambda base: _reciprocal(_square(base)),
}
_EXPANSIONS: dict[str, Callable[[ir.Operation], ir.Value | None]] = {
    "math.exp": _call,
    "math.expm1": _expm1,
    "math.erf": _call,
    "math.tanh": _call,
    "math.powf": _power,
}


def _add_definitions(module: ir.Module) -> None:
    text = _FILE.read_text()
    for name in ("exp", "erf", "tanh", "expm1"):
        text = text.replace(f"@{name}(", f"@{_PREFIX}{name}(")
    for function in ir.Module.parse(text).body.operations:
        function.operation.clone(ip=ir.InsertionPoint(module.body))
