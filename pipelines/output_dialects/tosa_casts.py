"""Lowers dtype conversions of dynamic sizes to TOSA, which torch-mlir does not support.

Emits the same operations as torch-mlir for static sizes: a truncation before TOSA's cast, which
rounds to the nearest integer, and a comparison with zero for booleans.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_operations import builtin_type, from_builtin, load_dialects, to_builtin

_CONVERSION = "torch.aten.to.dtype"


def cast_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites conversions of tensors with dynamic sizes in a module at `torch`."""
    with module.context:
        conversions = find_operations(module, _is_dynamic)
        if conversions:
            load_dialects(module, "convert-torch-to-tosa")
        for conversion in conversions:
            with ir.InsertionPoint(conversion), conversion.location:
                result = _converted(to_builtin(conversion.operands[0]), conversion.result.type)
            conversion.result.replace_all_uses_with(result)
            conversion.erase()


def _is_dynamic(operation: ir.Operation) -> bool:
    if operation.name != _CONVERSION:
        return False
    x, result = operation.operands[0].type, operation.result.type
    return x != result and "?" in str(x) and all(map(_is_number, (x, result)))


def _is_number(kind: ir.Type) -> bool:
    return str(kind).startswith("!torch.vtensor<[") and "complex" not in str(kind)


def _converted(x: ir.Value, kind: ir.Type) -> ir.Value:
    wanted = ir.RankedTensorType(ir.Type.parse(builtin_type(kind)))
    source, target = ir.RankedTensorType(x.type).element_type, wanted.element_type
    if str(target) == "i1":
        is_zero = build_op("tosa.equal", wanted, x, _zero(x))
        result = build_op("tosa.logical_not", wanted, is_zero)
    else:
        if _is_float(source) and not _is_float(target):
            x = _truncated(x)
        result = build_op("tosa.cast", wanted, x)
    return from_builtin(result, kind)


def _truncated(x: ir.Value) -> ir.Value:
    kind = ir.RankedTensorType(x.type)
    truths = ir.RankedTensorType.get(kind.shape, ir.IntegerType.get_signless(1))
    is_negative = build_op("tosa.greater", truths, _zero(x), x)
    up, down = build_op("tosa.ceil", kind, x), build_op("tosa.floor", kind, x)
    return build_op("tosa.select", kind, is_negative, up, down)


def _zero(x: ir.Value) -> ir.Value:
    """Creates a zero of x's element type and rank."""
    kind = ir.RankedTensorType(x.type)
    element = kind.element_type
    value = ir.FloatAttr.get(element, 0.0) if _is_float(element) else ir.IntegerAttr.get(element, 0)
    ones = ir.RankedTensorType.get([1] * kind.rank, element)
    values = ir.DenseElementsAttr.get_splat(ones, value)
    return build_op("tosa.const", ones, values=values)


def _is_float(element: ir.Type) -> bool:
    return not isinstance(element, ir.IntegerType)
