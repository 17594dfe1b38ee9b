"""Applies bodies of StableHLO operations, and turns operations on 0-D tensors into scalars."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir

from pipelines.ir.generics import inline
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.values import producer_named, terminator


def mapped(operation: ir.Operation, inputs: Sequence[ir.Value]) -> list[ir.Value]:
    """Applies the body of an operation elementwise: one `stablehlo.map` for each of its results.

    Args:
        inputs: tensors of one shape, in the order of the body's arguments.
    """
    count = len(terminator(operation.regions[0].blocks[0]).operands)
    return [_mapped_result(operation, inputs, index) for index in range(count)]


def _mapped_result(operation: ir.Operation, inputs: Sequence[ir.Value], index: int) -> ir.Value:
    # Clone the operation outside of any block, to move its body.
    copy = operation.clone(ip=False).operation
    block = copy.regions[0].blocks[0]
    returned = terminator(block)
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


_GENERIC = "linalg.generic"
_SCALAR = "tensor.from_elements"


def rewrite_scalar_tensors(module: ir.Module) -> None:
    """Rewrites `linalg.generic` without loops whose inputs are made of scalars, in place.

    Comparisons of sorts are such operations. The bodies of sorts must not allocate memory.
    """
    with module.context:
        replace_operations(find_operations(module, _is_of_scalars), _as_scalar)


def _as_scalar(generic: ir.Operation) -> ir.Value:
    *inputs, output = generic.operands
    scalars = [each.owner.operation.operands[0] for each in inputs]
    # The body does not read its last argument.
    (number,) = inline(generic.regions[0].blocks[0], [*scalars, output])
    return build_op(_SCALAR, generic.results[0].type, number)


def _is_of_scalars(operation: ir.Operation) -> bool:
    if operation.name != _GENERIC or len(operation.results) != 1:
        return False
    *inputs, output = operation.operands
    *_, initial = operation.regions[0].blocks[0].arguments
    unread = not list(initial.uses)
    return unread and all(map(_is_made_of_scalar, inputs)) and _rank(output) == 0


def _is_made_of_scalar(value: ir.Value) -> bool:
    return producer_named(value, _SCALAR) is not None and _rank(value) == 0


def _rank(value: ir.Value) -> int:
    return ir.RankedTensorType(value.type).rank
