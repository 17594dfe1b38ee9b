"""Expressions of tensors in the torch dialect, written with Python's operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_operations import (
    element_of,
    float_constant,
    integer_constant,
    shape_of,
    sizes_of,
    tensor_type,
)


@dataclass(frozen=True)
class TorchTensor:
    """An expression of tensors in the torch dialect.

    Attributes:
        value: the tensor.
        result: the type of the results of operators on tensors of different shapes.
    """

    value: ir.Value
    result: ir.Type

    def __add__(self, other: TorchTensor | float) -> TorchTensor:
        return self._binary("add", other, integer_constant(1))

    def __sub__(self, other: TorchTensor | float) -> TorchTensor:
        return self._binary("sub", other, integer_constant(1))

    def __mul__(self, other: TorchTensor | float) -> TorchTensor:
        return self._binary("mul", other)

    def __truediv__(self, other: TorchTensor) -> TorchTensor:
        return self._binary("div", other)

    def __neg__(self) -> TorchTensor:
        return self.unary("neg")

    def unary(self, name: str) -> TorchTensor:
        """Applies an operator that keeps the type, such as `exp`."""
        return self._new(build_op(f"torch.aten.{name}", self.value.type, self.value))

    def compare(self, name: str, other: TorchTensor | float) -> TorchTensor:
        """Compares elements by `eq`, `ne`, `lt`, `le`, `gt` or `ge`. The result is boolean."""
        return self._binary(name, other, truths=True)

    def where(self, value: TorchTensor, otherwise: TorchTensor) -> TorchTensor:
        """Selects an element of `value` where this tensor of booleans is true."""
        operands = (self.value, value.value, otherwise.value)
        return self._new(build_op("torch.aten.where.self", self.result, *operands))

    def _binary(
        self, name: str, other: TorchTensor | float, *rest: ir.Value, truths: bool = False
    ) -> TorchTensor:
        kind = self.value.type
        if isinstance(other, TorchTensor):
            name, operand = f"{name}.Tensor", other.value
            kind = kind if kind == operand.type else self.result
        else:
            name, operand = f"{name}.Scalar", float_constant(other)
        if truths:
            kind = f"{shape_of(kind)},i1>"
        return self._new(build_op(f"torch.aten.{name}", kind, self.value, operand, *rest))

    def _new(self, value: ir.Value) -> TorchTensor:
        return TorchTensor(value, self.result)


def literal(value: float, element: str, sizes: Sequence[int] = ()) -> ir.Value:
    """Creates a `!torch.vtensor` of one value, of an element type such as `f32` or `si64`."""
    kind = ir.RankedTensorType.get(sizes, ir.Type.parse(element))
    number = kind.element_type
    is_integer = isinstance(number, ir.IntegerType)
    attribute = (ir.IntegerAttr if is_integer else ir.FloatAttr).get(number, value)
    values = ir.DenseElementsAttr.get_splat(kind, attribute)
    shape = ",".join(map(str, sizes))
    return build_op("torch.vtensor.literal", f"!torch.vtensor<[{shape}],{element}>", value=values)


def select(x: ir.Value, axis: int, indices: Sequence[int]) -> ir.Value:
    """Selects elements along an axis by constant indices."""
    number = ir.IntegerType.get_signed(64)
    tensor = ir.RankedTensorType.get([len(indices)], number)
    numbers = [ir.IntegerAttr.get(number, index) for index in indices]
    values = ir.DenseElementsAttr.get(numbers, type=tensor)
    kind = f"!torch.vtensor<[{len(indices)}],si64>"
    found = build_op("torch.vtensor.literal", kind, value=values)
    sizes = sizes_of(x.type)
    sizes[axis] = len(indices)
    operands = (x, integer_constant(axis), found)
    return build_op("torch.aten.index_select", tensor_type(sizes, x.type), *operands)


# PyTorch's numbers of the dtypes.
_DTYPES = {
    **{"si8": 1, "si16": 2, "si32": 3, "si64": 4, "i1": 11},
    **{"f16": 5, "f32": 6, "f64": 7, "bf16": 15},
}


def cast(value: ir.Value, element: str) -> ir.Value:
    """Creates the conversion of a `!torch.vtensor` to another element type."""
    false = build_op("torch.constant.bool", "!torch.bool", value=ir.BoolAttr.get(False))
    none = build_op("torch.constant.none", "!torch.none")
    kind = f"{shape_of(value.type)},{element}>"
    operands = (value, integer_constant(_DTYPES[element]), false, false, none)
    return build_op("torch.aten.to.dtype", kind, *operands)


def computed(
    function: Callable[..., TorchTensor], operands: list[ir.Value], kind: ir.Type
) -> ir.Value:
    """Applies a function to tensors of floats, in f32 if their type is narrower.

    Args:
        operands: tensors of the same type of floats, which may have different shapes.
        kind: the type of the result, with the same element type.
    """
    element = element_of(kind)
    if element in ("f32", "f64"):
        return function(*(TorchTensor(each, kind) for each in operands)).value
    wide = ir.Type.parse(f"{shape_of(kind)},f32>")
    result = function(*(TorchTensor(cast(each, "f32"), wide) for each in operands))
    return cast(result.value, element)
