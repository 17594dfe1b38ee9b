"""Converts sizes that StableHLO computes as tensors to values of type index."""

from __future__ import annotations

from collections.abc import Callable

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, cf, tensor
from pipelines.ir.loops import Size, index
from pipelines.ir.modules import build_op
from pipelines.ir.values import producer, terminator
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

_COMPARISONS = {
    "EQ": "eq",
    "NE": "ne",
    "LT": "slt",
    "LE": "sle",
    "GT": "sgt",
    "GE": "sge",
}
_BINARY: dict[str, Callable[[ir.Value, ir.Value], ir.Value]] = {
    "add": lambda x, y: arith.AddIOp(x, y).result,
    "subtract": lambda x, y: arith.SubIOp(x, y).result,
    "multiply": lambda x, y: arith.MulIOp(x, y).result,
    "divide": lambda x, y: arith.DivSIOp(x, y).result,
    "remainder": lambda x, y: arith.RemSIOp(x, y).result,
    "maximum": lambda x, y: arith.MaxSIOp(x, y).result,
    "minimum": lambda x, y: arith.MinSIOp(x, y).result,
    "and": lambda x, y: arith.AndIOp(x, y).result,
    "or": lambda x, y: arith.OrIOp(x, y).result,
}
# Operations whose result has the same elements as the operand.
_SAME = ("reshape", "convert", "broadcast_in_dim")


def result_sizes(shape: ir.Value, kind: ir.Type) -> list[Size]:
    """Returns the sizes of a result, and asserts that the dynamic ones are not negative."""
    kind = ir.RankedTensorType(kind)
    sizes: list[Size] = []
    for axis in range(kind.rank):
        if not kind.is_dynamic_dim(axis):
            sizes.append(kind.shape[axis])
            continue
        computed = element(shape, axis)
        assert_size(arith.CmpIPredicate.sge, computed, 0, "a size is negative")
        sizes.append(computed)
    return sizes


def assert_size(predicate: arith.CmpIPredicate, left: Size, right: Size, message: str) -> None:
    """Creates an assertion that compares two sizes; none if they are the same number."""
    if isinstance(left, int) and left == right:
        return
    holds = arith.CmpIOp(predicate, index(left), index(right)).result
    cf.AssertOp(holds, message)


def element(value: ir.Value, place: int = 0) -> ir.Value:
    """Returns an element of a tensor of sizes, of type index, or i1 for a boolean.

    Args:
        place: the position of the element in row-major order.

    Raises:
        Error: stage `linalg`, for a size that does not follow from the shapes of the inputs.
    """
    operation = _original_producer(value)
    name = operation.name.removeprefix("stablehlo.")
    if name == "constant":
        return _constant(operation, place)
    if name == "get_dimension_size":
        axis = ir.IntegerAttr(operation.attributes["dimension"]).value
        return tensor.DimOp(operation.operands[0], index(axis)).result
    if name == "tensor.from_elements":
        return build_op("arith.index_cast", ir.IndexType.get(), operation.operands[place])
    if name in _SAME:
        # The source has one element, or as many as the result.
        source = operation.operands[0]
        is_one = ir.RankedTensorType(source.type).shape in ([], [1])
        if name != "broadcast_in_dim" or is_one:
            return element(source, 0 if is_one else place)
    if name == "concatenate":
        for operand in operation.operands:
            (length,) = ir.RankedTensorType(operand.type).shape
            if place < length:
                return element(operand, place)
            place -= length
    if name == "slice":
        starts, strides = (
            list(ir.DenseI64ArrayAttr(operation.attributes[each]))
            for each in ("start_indices", "strides")
        )
        return element(operation.operands[0], starts[0] + place * strides[0])
    return _computed(operation, name, place)


def _computed(operation: ir.Operation, name: str, place: int) -> ir.Value:
    if name not in (*_BINARY, "compare", "select", "negate", "sign", "not", "abs"):
        raise _of_data(operation)
    operands = [element(operand, place) for operand in operation.operands]
    if name in _BINARY:
        return _BINARY[name](*operands)
    if name == "compare":
        direction = str(operation.attributes["comparison_direction"]).split()[-1].rstrip(">")
        predicate = arith.CmpIPredicate[_COMPARISONS[direction]]
        return arith.CmpIOp(predicate, *operands).result
    if name == "select":
        return arith.SelectOp(*operands).result
    (x,) = operands
    if name == "not":
        truth = arith.ConstantOp(x.type, ir.BoolAttr.get(True)).result
        return arith.XOrIOp(x, truth).result
    negative = arith.SubIOp(index(0), x).result
    if name == "negate":
        return negative
    if name == "abs":
        return arith.MaxSIOp(x, negative).result
    return arith.MaxSIOp(arith.MinSIOp(x, index(1)).result, index(-1)).result


def _original_producer(value: ir.Value) -> ir.Operation:
    """Returns the operation that computes a value; looks through loops that do not change it."""
    while (operation := producer(value)) is None:
        loop = value.owner.owner.operation
        number = ir.BlockArgument(value).arg_number
        if loop.name != "stablehlo.while" or not _stays(loop, number):
            raise _of_data(loop)
        value = loop.operands[number]
    if operation.name == "stablehlo.while":
        number = list(operation.results).index(value)
        if not _stays(operation, number):
            raise _of_data(operation)
        return _original_producer(operation.operands[number])
    return operation


def _stays(loop: ir.Operation, number: int) -> bool:
    body = loop.regions[1].blocks[0]
    return terminator(body).operands[number] == body.arguments[number]


def _constant(operation: ir.Operation, place: int) -> ir.Value:
    values = ir.DenseElementsAttr(operation.attributes["value"])
    is_boolean = ir.IntegerType(values.type.element_type).width == 1
    kind = ir.DenseBoolElementsAttr if is_boolean else ir.DenseIntElementsAttr
    number = kind(values)[0 if values.is_splat else place]
    if is_boolean:
        return arith.ConstantOp(
            ir.IntegerType.get_signless(1), ir.BoolAttr.get(bool(number))
        ).result
    return index(number)


def _of_data(operation: ir.Operation) -> Error:
    return Error(
        "linalg",
        f"{operation.name} computes a size from data, not only from the shapes of the inputs",
        where=location_line(operation.location),
        hint="compute all sizes from the sizes of the inputs",
    )
