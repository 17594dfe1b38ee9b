"""Chooses where elementwise operations write their results.

A result that is padded next is written to its place in the padded tensor, which saves a copy.
Another result replaces an operand that nothing else reads, so that the operation touches less
memory.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer, producer_named

# Elements of a row below which rows in a padded tensor are worse than a copy: there, a loop cannot
# run on from one row to the next, and a short row does not fill vectors.
_LONG = 28


def choose_destinations(module: ir.Module) -> None:
    """Changes the destination of elementwise operations on tensors, in place."""
    with module.context, ir.Location.unknown():
        for operation in find_operations(module, _writes_new_tensor):
            if not _write_into_padding(operation):
                _write_over_operand(operation)


def _writes_new_tensor(operation: ir.Operation) -> bool:
    """Returns whether this is an elementwise operation with one result, a new tensor."""
    if operation.name != "linalg.generic" or len(operation.results) != 1:
        return False
    kinds = operation.attributes["iterator_types"]
    identity = ir.AffineMap.get_identity(len(kinds))
    block = operation.regions[0].blocks[0]
    return (
        all(str(kind) == "#linalg.iterator_type<parallel>" for kind in kinds)
        and indexing_maps(operation)[-1] == identity
        and producer_named(operation.operands[-1], "tensor.empty") is not None
        and not list(block.arguments[len(block.arguments) - 1].uses)
        and not _fills_with_constant(operation)
    )


def _write_into_padding(operation: ir.Operation) -> bool:
    """Makes an operation write to its place in a padded tensor, if its result is only padded."""
    uses = [use.owner.operation for use in operation.result.uses]
    if len(uses) != 1 or uses[0].name != "tensor.insert_slice":
        return False
    insertion, type = uses[0], operation.result.type
    fill = producer_named(insertion.operands[1], "linalg.generic")
    if (
        insertion.operands[0] != operation.result
        or len(insertion.operands) != 2
        or insertion.block != operation.block
        or fill is None
        or not _fills_with_constant(fill)
        or not type.has_static_shape
        or type.rank != insertion.result.type.rank
        or type.shape[-1] < _LONG
    ):
        return False
    attributes = {
        name: insertion.attributes[name]
        for name in ("static_offsets", "static_sizes", "static_strides")
    }
    attributes["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get([1, 0, 0, 0])
    with ir.InsertionPoint(operation):
        number = producer(fill.operands[0]).clone().operation
        empty = producer(fill.operands[1]).clone().operation
        padded = fill.clone().operation
        padded.operands[0], padded.operands[1] = number.result, empty.result
        place = ir.Operation.create(
            "tensor.extract_slice", [type], [padded.result], attributes=attributes
        )
    operation.operands[len(operation.operands) - 1] = place.result
    insertion.operands[1] = padded.result
    if not list(fill.result.uses):
        fill.erase()
    return True


def _fills_with_constant(operation: ir.Operation) -> bool:
    """Returns whether this fills a new tensor of static shape with a constant."""
    names = [each.name for each in operation.regions[0].blocks[0].operations]
    return (
        len(operation.operands) == 2
        and names == ["linalg.yield"]
        and producer_named(operation.operands[0], "arith.constant") is not None
        and producer_named(operation.operands[1], "tensor.empty") is not None
        and operation.result.type.has_static_shape
    )


def _write_over_operand(operation: ir.Operation) -> None:
    """Makes an operation replace an operand that nothing else reads, if there is one."""
    maps = indexing_maps(operation)
    last = len(maps) - 1
    for operand, indexing in zip(list(operation.operands)[:last], maps, strict=False):
        before = producer_named(operand, "linalg.generic")
        if (
            before is not None
            and before.block == operation.block
            and operand.type == operation.result.type
            and indexing == maps[last]
            and len(list(operand.uses)) == 1
        ):
            operation.operands[last] = operand
            return
