"""Tensors of booleans become tensors of bytes, as PyTorch keeps them: 0 and 1.

MLIR does not say how `i1` lies in memory, and tools differ: the LLVM 22.1 in the environment aborts
where it lowers a load or a store of one. The entry function's own booleans are bytes, too.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from torch_mlir import ir
from torch_mlir.dialects import arith

from pipelines.ir_modules import find_operations
from unmess.core.error import Error
from unmess.core.user_source import location_line

# What only moves elements, or passes tensors on: with the types of its values, all is said.
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
# What takes elements, by the number of operands before them.
_TAKES = {
    "tensor.insert": slice(0, 1),
    "tensor.from_elements": slice(None),
    "tensor.splat": slice(0, 1),
    "linalg.fill": slice(0, 1),
}
# What yields elements from a region.
_YIELDS = ("linalg.generic", "tensor.generate", "tensor.pad")


def keep_booleans_in_bytes(module: ir.Module) -> None:
    """Makes each `tensor<…xi1>` a `tensor<…xi8>`, in place.

    Raises:
        Error: stage `linalg`, where an operation reads or makes booleans in a way not known here.
    """
    operations = find_operations(module, _has_booleans)
    with module.context, ir.Location.unknown():
        for operation in operations:
            _refuse_unknown(operation)
        for operation in operations:
            with operation.location:
                _rewrite(operation)
        for function in find_operations(module, lambda operation: operation.name == "func.func"):
            _retype_function(function)


def _has_booleans(operation: ir.Operation) -> bool:
    blocks = [block for region in operation.regions for block in region]
    values = [
        *operation.operands,
        *operation.results,
        *(argument for block in blocks for argument in block.arguments),
    ]
    return any(_is_boolean(value.type) for value in values)


def _is_boolean(type: ir.Type) -> bool:
    """Whether it is a tensor of i1."""
    return isinstance(type, ir.RankedTensorType) and _is_bit(type.element_type)


def _is_bit(type: ir.Type) -> bool:
    return isinstance(type, ir.IntegerType) and type.width == 1


def _byte() -> ir.Type:
    return ir.IntegerType.get_signless(8)


def _in_bytes(type: ir.Type) -> ir.Type:
    return ir.RankedTensorType.get(type.shape, _byte(), type.encoding)


def _refuse_unknown(operation: ir.Operation) -> None:
    name = operation.name
    if name == "linalg.generic" or name.startswith(_MOVES):
        return
    if name == "arith.constant" and isinstance(
        operation.attributes["value"], ir.DenseIntElementsAttr
    ):
        return
    inline = name == "arith.constant"
    raise Error(
        "linalg",
        f"{name} has a tensor of booleans that cannot be kept in bytes",
        where=location_line(operation.location),
        hint="keep the weights out of the IR: --weights external"
        if inline
        else "report this with the model",
    )


def _rewrite(operation: ir.Operation) -> None:
    """Changes the types of an operation's results and of its blocks' arguments, and what it says.

    Its operands have been changed, or will be, where they are made.
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
    # Of `linalg.fill` and the like, which have the body that MLIR gives them.
    if name.startswith("linalg.") and name != "linalg.generic":
        _retype(operation.regions[0].blocks[0].arguments, _is_bit, lambda _: _byte())
    blocks = [block for region in operation.regions for block in region]
    _retype(operation.results, _is_boolean, _in_bytes)
    for block in blocks:
        _retype(block.arguments, _is_boolean, _in_bytes)


def _retype(values: Iterable[ir.Value], matches, change) -> None:
    for value in values:
        if matches(value.type):
            value.set_type(change(value.type))


def _constant(booleans: ir.Attribute) -> ir.Attribute:
    wide = _in_bytes(booleans.type)
    numbers = ir.DenseIntElementsAttr(booleans)
    if numbers.is_splat:
        return ir.DenseElementsAttr.get_splat(wide, ir.IntegerAttr.get(_byte(), numbers[0]))
    return ir.DenseElementsAttr.get(np.array(numbers).astype(np.int8), type=wide)


def _widen_arguments(generic: ir.Operation) -> None:
    """Lets the body read bytes."""
    block = generic.regions[0].blocks[0]
    for operand, element in zip(generic.operands, block.arguments, strict=True):
        if isinstance(operand.type, ir.RankedTensorType) and _is_bit(element.type):
            element.set_type(_byte())
            if not list(element.uses):
                continue
            with ir.InsertionPoint.at_block_begin(block):
                _narrow(element)


def _narrow(byte: ir.Value) -> None:
    """Gives the uses of a byte a bit: whether it is not 0."""
    zero = arith.ConstantOp(_byte(), 0).result
    bit = arith.CmpIOp(arith.CmpIPredicate.ne, byte, zero)
    byte.replace_all_uses_except(bit.result, [bit.operation])


def _yielded(operation: ir.Operation) -> list[bool]:
    """For each element that the body yields, whether it goes into a tensor of booleans."""
    return [_is_boolean(result.type) for result in operation.results]


def _widen(operation: ir.Operation, which: slice, wanted: list[bool]) -> None:
    """Gives an operation bytes for some of its operands that are bits."""
    for index in range(len(operation.operands))[which]:
        operand = operation.operands[index]
        if wanted[index] and _is_bit(operand.type):
            with ir.InsertionPoint(operation):
                operation.operands[index] = arith.ExtUIOp(_byte(), operand).result


def _retype_function(function: ir.Operation) -> None:
    type = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs, results = (
        [_in_bytes(each) if _is_boolean(each) else each for each in types]
        for types in (type.inputs, type.results)
    )
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
