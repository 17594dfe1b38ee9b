"""Turns operations on 0-D tensors that are made of scalars into operations on the scalars."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.bodies import inline
from pipelines.ir.modules import build_op, find_operations

_GENERIC = "linalg.generic"
_SCALAR = "tensor.from_elements"


def rewrite_scalar_tensors(module: ir.Module) -> None:
    """Rewrites `linalg.generic` without loops whose inputs are made of scalars, in place.

    Comparisons of sorts are such operations. The bodies of sorts must not allocate memory.
    """
    with module.context:
        for generic in find_operations(module, _is_of_scalars):
            *inputs, output = generic.operands
            with ir.InsertionPoint(generic), generic.location:
                scalars = [each.owner.operation.operands[0] for each in inputs]
                # The body does not read its last argument.
                (number,) = inline(generic.regions[0].blocks[0], [*scalars, output])
                result = build_op(_SCALAR, generic.results[0].type, number)
            generic.results[0].replace_all_uses_with(result)
            generic.erase()


def _is_of_scalars(operation: ir.Operation) -> bool:
    if operation.name != _GENERIC or len(operation.results) != 1:
        return False
    *inputs, output = operation.operands
    *_, initial = operation.regions[0].blocks[0].arguments
    unread = not list(initial.uses)
    return unread and all(map(_is_made_of_scalar, inputs)) and _rank(output) == 0


def _is_made_of_scalar(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block) or _rank(value):
        return False
    return value.owner.operation.name == _SCALAR


def _rank(value: ir.Value) -> int:
    return ir.RankedTensorType(value.type).rank
