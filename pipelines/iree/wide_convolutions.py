"""Widens the operands of convolutions of f16 and bf16 to f32.

IREE has slow code for these convolutions: it converts each number again for each window, element by
element. Convolutions of f32 take less time than the conversions. The sums are in f32 before and
after, so the results are the same.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.generics import elementwise
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import RESHAPES, empty, sizes_of
from pipelines.ir.values import producer_named
from pipelines.pipeline import Step

_NAME = "linalg.conv_"
# The letters of axes of a window, as in `fchw`.
_WINDOW = "dhw"


def widen_convolutions(module: ir.Module) -> None:
    """Widens the operands of convolutions with windows. Changes the IR in place.

    Depthwise convolutions, and windows of one element, which become matrix products, stay.
    """
    with module.context:
        for operation in find_operations(module, _is_slow):
            with operation.location, ir.InsertionPoint(operation):
                _widen(operation)


def _is_slow(operation: ir.Operation) -> bool:
    if not operation.name.startswith(_NAME) or len(operation.operands) != 3:
        return False
    image, weight, init = (ir.RankedTensorType(each.type) for each in operation.operands)
    narrow = (ir.F16Type, ir.BF16Type)
    axes = operation.name.rsplit("_", 1)[1]
    return (
        isinstance(init.element_type, ir.F32Type)
        and all(isinstance(each.element_type, narrow) for each in (image, weight))
        and any(size != 1 for size, axis in zip(weight.shape, axes, strict=True) if axis in _WINDOW)
    )


def _widen(operation: ir.Operation) -> None:
    wide = ir.F32Type.get()
    body = operation.regions[0].blocks[0]
    for position in (0, 1):
        operation.operands[position] = _widened(operation.operands[position], wide)
        body.arguments[position].set_type(wide)
    for each in list(body.operations):
        if each.operation.name == "arith.extf":
            each.operation.result.replace_all_uses_with(each.operation.operands[0])
            each.operation.erase()


def _widened(tensor: ir.Value, wide: ir.Type) -> ir.Value:
    """Returns a tensor in f32. Widens the operand of a reshape: later steps look for reshapes."""
    reshape = producer_named(tensor, *RESHAPES)
    if reshape is not None:
        source = _widened(reshape.operands[0], wide)
        copy = reshape.clone().operation
        copy.operands[0] = source
        shape = ir.RankedTensorType(copy.result.type).shape
        copy.result.set_type(ir.RankedTensorType.get(shape, wide))
        return copy.result
    output = empty(sizes_of(tensor), wide)
    return elementwise([tensor], output, lambda number, _: [arith.ExtFOp(wide, number).result])


WIDEN_CONVOLUTIONS = Step(
    "iree-widen-convolutions",
    "convert the operands of f16 and bf16 convolutions to f32: IREE's code for them is slow",
    widen_convolutions,
)
