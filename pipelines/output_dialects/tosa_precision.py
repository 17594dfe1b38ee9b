"""Replaces f64, which TOSA does not have, with f32.

torch-mlir computes variances, and compares with infinity, in f64. If the imported program has no
f64, these computations are done in f32, as in eager.
"""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from pipelines.ir.modules import find_operations

_RAW_F64 = ",f64>"


def has_f64(module: ir.Module) -> bool:
    """Returns whether a module in the torch dialect has tensors of f64."""
    return bool(
        find_operations(
            module,
            lambda operation: any(
                str(value.type).endswith(_RAW_F64)
                for values in (operation.operands, operation.results)
                for value in values
            ),
        )
    )


def narrow_f64(module: ir.Module) -> None:
    """Replaces every f64 in a module at stage `tosa` with f32."""
    with module.context, ir.Location.unknown():
        for operation in find_operations(module, _has_f64_result):
            if (
                operation.name == "tosa.cast"
                and _element(operation.operands[0]) == ir.F32Type.get()
            ):
                operation.results[0].replace_all_uses_with(operation.operands[0])
                operation.erase()
                continue
            for name, attribute in operation.attributes.items():
                operation.attributes[name] = _narrowed(attribute)
            for result in operation.results:
                if _element(result) == ir.F64Type.get():
                    result.set_type(_tensor_of_f32(result.type))
        for cast in find_operations(module, lambda operation: operation.name == "tosa.cast"):
            if cast.operands[0].type == cast.results[0].type:
                cast.results[0].replace_all_uses_with(cast.operands[0])
                cast.erase()


def _has_f64_result(operation: ir.Operation) -> bool:
    return any(_element(result) == ir.F64Type.get() for result in operation.results)


def _element(value: ir.Value) -> ir.Type | None:
    """Returns the element type of a tensor; None for other values."""
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return ir.RankedTensorType(value.type).element_type if is_tensor else None


def _tensor_of_f32(kind: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(ir.RankedTensorType(kind).shape, ir.F32Type.get())


def _narrowed(attribute: ir.Attribute) -> ir.Attribute:
    single = ir.F32Type.get()
    if isinstance(attribute, ir.FloatAttr) and attribute.type == ir.F64Type.get():
        return ir.FloatAttr.get(single, attribute.value)
    if isinstance(attribute, ir.TypeAttr) and attribute.value == ir.F64Type.get():
        return ir.TypeAttr.get(single)
    if isinstance(attribute, ir.DenseFPElementsAttr):
        kind = ir.RankedTensorType(attribute.type)
        if kind.element_type == ir.F64Type.get():
            numbers = np.array(attribute).astype(np.float32)
            return ir.DenseElementsAttr.get(numbers, type=_tensor_of_f32(kind))
    return attribute
