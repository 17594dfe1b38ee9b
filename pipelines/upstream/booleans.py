"""Converts tensors of booleans to tensors of bytes, 0 and 1, as PyTorch stores them.

MLIR does not define the layout of `i1` in memory, and tools differ. LLVM 22.1 in the environment
aborts when it lowers a load or a store of `i1`. Arguments and results of functions change, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# Operations that only move elements or pass tensors on: changing the types of values is enough.
_MOVES = (
    "tensor.",
    "scf.",
    "func.",
    "cf.",
    "linalg.transpose",
    "linalg.broadcast",
    "linalg.copy",
    "linalg.fill",
)
# Operations that take elements as operands, and which operands these are.
_TAKES = {
    "tensor.insert": slice(0, 1),
    "tensor.from_elements": slice(None),
    "tensor.splat": slice(0, 1),
    "linalg.fill": slice(0, 1),
}
# Operations whose region yields elements.
_YIELDS = ("linalg.generic", "tensor.generate", "tensor.pad")


def keep_booleans_in_bytes(module: ir.Module) -> None:
    """Converts each `tensor<…xi1>` to `tensor<…xi8>`, in place.

    Raises:
        Error: stage `linalg`, for an unsupported operation on tensors of booleans.
    """
    operations = find_operations(module, has_booleans)
    with module.context, ir.Location.unknown():
        for operation in operations:
            _refuse_unknown(operation)
        for operation in operations:
            with operation.location:
                rewrite(operation)
        for function in find_operations(module, lambda operation: operation.name == "func.func"):
            _retype_function(function)


def has_booleans(operation: ir.Operation) -> bool:
    """Returns whether an operand, a result or a block argument is a tensor of booleans."""
    return any(is_boolean(value.type) for value in values_of(operation))


def values_of(operation: ir.Operation) -> list[ir.Value]:
    """Returns the operands, the results and the block arguments of an operation."""
    blocks = [block for region in operation.regions for block in region]
    return [
        *operation.operands,
        *operation.results,
        *(argument for block in blocks for argument in block.arguments),
    ]


def is_boolean(type: ir.Type) -> bool:
    """Returns whether a type is a ranked tensor of i1."""
    return isinstance(type, ir.RankedTensorType) and _is_bit(type.element_type)


def _is_bit(type: ir.Type) -> bool:
    return isinstance(type, ir.IntegerType) and type.width == 1


def _byte() -> ir.Type:
    return ir.IntegerType.get_signless(8)


def _in_bytes(type: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(type.shape, _byte(), type.encoding)


def is_supported(operation: ir.Operation) -> bool:
    """Returns whether `rewrite` takes an operation on tensors of booleans."""
    if operation.name == "arith.constant":
        return isinstance(operation.attributes["value"], ir.DenseIntElementsAttr)
    return operation.name == "linalg.generic" or operation.name.startswith(_MOVES)


def _refuse_unknown(operation: ir.Operation) -> None:
    if is_supported(operation):
        return
    inline = operation.name == "arith.constant"
    raise Error(
        "linalg",
        f"cannot store the booleans of {operation.name} in bytes",
        where=location_line(operation.location),
        hint="keep the weights out of the IR with --weights external"
        if inline
        else "report this bug with the model",
    )


def rewrite(operation: ir.Operation) -> None:
    """Changes the types of an operation's results and block arguments, and converts its elements.

    Operands change their types with the operations that define them.
    """
    name = operation.name
    if name == "arith.constant":
        operation.attributes["value"] = _constant(operation.attributes["value"])
    if name == "linalg.generic":
        _widen_arguments(operation)
    if name in _YIELDS:
        yielded = operation.regions[0].blocks[0].operations
        _widen(yielded[len(yielded) - 1].operation, slice(None), _yielded(operation))
    if name in _TAKES:
        _widen(operation, _TAKES[name], [True] * len(operation.operands))
    if name == "tensor.extract":
        operation.result.set_type(_byte())
        with ir.InsertionPoint.after(operation):
            _narrow(operation.result)
    # Bodies of named operations, such as `linalg.fill`, are fixed: change their arguments only.
    if name.startswith("linalg.") and name != "linalg.generic":
        _retype(operation.regions[0].blocks[0].arguments, _is_bit, lambda _: _byte())
    blocks = [block for region in operation.regions for block in region]
    _retype(operation.results, is_boolean, _in_bytes)
    for block in blocks:
        _retype(block.arguments, is_boolean, _in_bytes)


def _retype(values: Iterable[ir.Value], matches, change) -> None:
    for value in values:
        if matches(value.type):
            value.set_type(change(value.type))


def _constant(booleans: ir.Attribute) -> ir.Attribute:
    # Imported here, because the import takes 0.13 s.
    import numpy as np

    wide = _in_bytes(booleans.type)
    numbers = ir.DenseIntElementsAttr(booleans)
    if numbers.is_splat:
        return ir.DenseElementsAttr.get_splat(wide, ir.IntegerAttr.get(_byte(), numbers[0]))
    return ir.DenseElementsAttr.get(np.array(numbers).astype(np.int8), type=wide)


def _widen_arguments(generic: ir.Operation) -> None:
    """Makes the body take bytes, and converts those that it reads to bits."""
    block = generic.regions[0].blocks[0]
    for operand, element in zip(generic.operands, block.arguments, strict=True):
        if isinstance(operand.type, ir.RankedTensorType) and _is_bit(element.type):
            element.set_type(_byte())
            if not list(element.uses):
                continue
            with ir.InsertionPoint.at_block_begin(block):
                _narrow(element)


def _narrow(byte: ir.Value) -> None:
    """Replaces the uses of a byte by a bit: whether the byte is not 0."""
    zero = arith.ConstantOp(_byte(), 0).result
    bit = arith.CmpIOp(arith.CmpIPredicate.ne, byte, zero)
    byte.replace_all_uses_except(bit.result, [bit.operation])


def _yielded(operation: ir.Operation) -> list[bool]:
    """Returns, for each element that the body yields, whether the result is of booleans."""
    return [is_boolean(result.type) for result in operation.results]


def _widen(operation: ir.Operation, which: slice, wanted: list[bool]) -> None:
    """Extends the selected operands that are bits to bytes."""
    for index in range(len(operation.operands))[which]:
        operand = operation.operands[index]
        if wanted[index] and _is_bit(operand.type):
            with ir.InsertionPoint(operation):
                operation.operands[index] = arith.ExtUIOp(_byte(), operand).result


def _retype_function(function: ir.Operation) -> None:
    type = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs, results = (
        [_in_bytes(each) if is_boolean(each) else each for each in types]
        for types in (type.inputs, type.results)
    )
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
