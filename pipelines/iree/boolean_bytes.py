"""Converts tensors of booleans to tensors of bytes for IREE's data tiling.

IREE fuses elementwise operations into the product whose result they read, and packs their other
operands into tiles, too. For an operand of i1, it then makes invalid IR (`'linalg.pack' op expected
padding_value has 'i8' but got: 'i1'`), because it stores booleans as bytes only after it has packed
them. Such an operand is read from memory: an argument, a weight, a constant, or the result of
another dispatch. If IREE computes the operand in the dispatch of the product, it packs the operands
of that computation instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.scalars import is_elementwise
from pipelines.ir.tensor_ops import empty
from pipelines.ir.values import producer, terminator
from pipelines.pipeline import Step
from pipelines.upstream.booleans import (
    has_booleans,
    is_boolean,
    is_supported,
    rewrite,
    values_of,
)

# Operations whose types must match those of other functions, loops and branches.
_CONTROL = ("func.", "scf.", "cf.")


def keep_booleans_in_bytes(module: ir.Module) -> None:
    """Converts tensors of booleans that operations of linalg and tensor use to tensors of bytes.

    Changes a module at `linalg` in place. Arguments and results of functions, and operands of other
    operations, stay booleans: IREE reads the same memory as booleans or as bytes. Tensors of
    dynamic size stay booleans, because IREE does not pack them. So does a result that IREE fuses
    into its only user, because IREE does not fuse an operation that computes bytes.
    """
    with module.context, ir.Location.unknown():
        operations = find_operations(module, _is_converted)
        # Look up in the set before the changes: the hash of an operation depends on its types.
        converted = set(operations)
        read = [
            (operation, index)
            for operation in operations
            for index, operand in enumerate(operation.operands)
            if is_boolean(operand.type) and producer(operand) not in converted
        ]
        written = [
            (use.owner.operation, use.operand_number)
            for operation in operations
            for result in operation.results
            if is_boolean(result.type)
            for use in result.uses
            if use.owner.operation not in converted
        ]
        fused = [operation for operation in operations if _is_fused(operation, converted)]
        for operation in operations:
            with operation.location:
                rewrite(operation)
        for operation in fused:
            _restore(operation)
        _cast_operands(read, 8)
        _cast_operands(written, 1)


def _is_converted(operation: ir.Operation) -> bool:
    return (
        is_supported(operation)
        and not operation.name.startswith(_CONTROL)
        and has_booleans(operation)
        and all(
            value.type.has_static_shape for value in values_of(operation) if is_boolean(value.type)
        )
    )


def _is_fused(operation: ir.Operation, converted: Collection[ir.Operation]) -> bool:
    """Returns whether an operation computes booleans elementwise for one `linalg.generic`."""
    if not is_elementwise(operation) or not is_boolean(operation.results[0].type):
        return False
    uses = list(operation.results[0].uses)
    user = uses[0].owner.operation if len(uses) == 1 else None
    return (
        user in converted
        and user.name == "linalg.generic"
        and uses[0].operand_number < len(user.operands) - len(user.results)
    )


def _restore(generic: ir.Operation) -> None:
    """Converts the result, and the argument of its only user, back to booleans."""
    result, (use,) = generic.results[0], generic.results[0].uses
    body = generic.regions[0].blocks[0]
    yielded = terminator(body)
    wide = producer(yielded.operands[0])
    yielded.operands[0] = wide.operands[0]
    wide.erase()
    bit = ir.IntegerType.get_signless(1)
    place = len(generic.operands) - 1
    with ir.InsertionPoint(generic), generic.location:
        generic.operands[place] = empty(ir.RankedTensorType(result.type).shape, bit)
    result.set_type(generic.operands[place].type)
    element = use.owner.regions[0].blocks[0].arguments[use.operand_number]
    for narrowing in [each.owner for each in element.uses]:
        narrowing.results[0].replace_all_uses_with(element)
        narrowing.erase()
    for argument in (body.arguments[place], element):
        argument.set_type(bit)


def _cast_operands(operands: Iterable[tuple[ir.Operation, int]], width: int) -> None:
    """Makes operations read the memory of operands as integers of another width.

    Each tensor is cast once, where it is defined. IREE copies nothing for such a cast.
    """
    element = ir.IntegerType.get_signless(width)
    sizes = ir.DenseI32ArrayAttr.get([1, 0, 0])
    casts: dict[ir.Value, ir.Value] = {}
    for operation, index in operands:
        value = operation.operands[index]
        if value not in casts:
            kind = ir.RankedTensorType.get(ir.RankedTensorType(value.type).shape, element)
            with _after(value), operation.location:
                casts[value] = build_op(
                    "flow.tensor.bitcast", kind, value, operandSegmentSizes=sizes
                )
        operation.operands[index] = casts[value]


def _after(value: ir.Value) -> ir.InsertionPoint:
    operation = producer(value)
    if operation is None:
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(operation)


KEEP_BOOLEANS_IN_BYTES = Step(
    "iree-keep-booleans-in-bytes",
    "make tensors of booleans tensors of bytes: IREE's data tiling makes invalid IR of booleans",
    keep_booleans_in_bytes,
)
