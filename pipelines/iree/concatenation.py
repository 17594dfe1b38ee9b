"""Concatenates tensors of dynamic sizes to one of dynamic size, and casts it to the known size.

IREE does not compile `tensor.concat` of a dynamic operand with a static result (`hf:udop`):
"'flow.tensor.reshape' op value set has 1 dynamic dimensions but only 0 dimension values are
attached".
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import tensor
from pipelines.ir.modules import build_op, find_operations
from pipelines.pipeline import Step


def concatenate_dynamic_sizes(module: ir.Module) -> None:
    """Rewrites the concatenations of a module at `linalg` in place."""
    with module.context:
        for concat in find_operations(module, lambda each: each.name == "tensor.concat"):
            _rewrite(concat)


def _rewrite(concat: ir.Operation) -> None:
    axis = ir.IntegerAttr(concat.attributes["dim"]).value
    known = ir.RankedTensorType(concat.result.type)
    operands = [ir.RankedTensorType(each.type) for each in concat.operands]
    if known.is_dynamic_dim(axis) or not any(each.is_dynamic_dim(axis) for each in operands):
        return
    shape = list(known.shape)
    shape[axis] = ir.ShapedType.get_dynamic_size()
    with ir.InsertionPoint(concat), concat.location:
        kind = ir.RankedTensorType.get(shape, known.element_type)
        joined = build_op("tensor.concat", kind, *concat.operands, dim=concat.attributes["dim"])
        concat.result.replace_all_uses_with(tensor.CastOp(known, joined).result)
    concat.erase()


CONCATENATE_DYNAMIC_SIZES = Step(
    "iree-concatenate-dynamic-sizes",
    "concatenate tensors of dynamic sizes to a dynamic size: IREE does not compile them with a "
    "static one",
    concatenate_dynamic_sizes,
)
