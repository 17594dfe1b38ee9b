"""Applies bodies of StableHLO operations, which compute with 0-D tensors, to whole tensors."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir


def mapped(operation: ir.Operation, inputs: Sequence[ir.Value]) -> list[ir.Value]:
    """Applies the body of an operation elementwise: one `stablehlo.map` for each of its results.

    Args:
        inputs: tensors of one shape, in the order of the body's arguments.
    """
    count = len(_returned(operation.regions[0].blocks[0]).operands)
    return [_mapped_result(operation, inputs, index) for index in range(count)]


def _mapped_result(operation: ir.Operation, inputs: Sequence[ir.Value], index: int) -> ir.Value:
    # Clone the operation outside of any block, to move its body.
    copy = operation.clone(ip=False).operation
    block = copy.regions[0].blocks[0]
    returned = _returned(block)
    value = returned.operands[index]
    shape = ir.RankedTensorType(inputs[0].type)
    kind = ir.RankedTensorType.get(shape.shape, ir.RankedTensorType(value.type).element_type)
    axes = ir.DenseI64ArrayAttr.get(list(range(shape.rank)))
    new = ir.Operation.create(
        "stablehlo.map", [kind], list(inputs), {"dimensions": axes}, regions=1
    )
    with ir.InsertionPoint(returned), returned.location:
        ir.Operation.create("stablehlo.return", operands=[value])
    returned.erase()
    block.append_to(new.regions[0])
    return new.result


def _returned(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation
