"""Turns parallel loops into loops over parts, which threads share."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, scf
from pipelines.ir.modules import find_operations
from pipelines.reference.steps.splitting import PARTS


def turn_into_parts(module: ir.Module) -> None:
    """Replaces each `scf.forall` on memrefs, in place. It has one axis of static size from 0."""
    with module.context:
        for loop in find_operations(module, lambda each: each.name == "scf.forall"):
            with ir.InsertionPoint(loop), loop.location:
                _turn_into_parts(loop)
            loop.erase()


def _turn_into_parts(loop: ir.Operation) -> None:
    zero, one, end = (
        arith.ConstantOp.create_index(number).result
        for number in (0, 1, *loop.attributes["staticUpperBound"])
    )
    parts = scf.ForOp(zero, end, one)
    parts.operation.attributes[PARTS] = ir.UnitAttr.get()
    body = loop.regions[0].blocks[0]
    body.arguments[0].replace_all_uses_with(parts.induction_variable)
    with ir.InsertionPoint(parts.body):
        end = scf.YieldOp([])
    *operations, _ = body.operations
    for operation in operations:
        operation.operation.move_before(end.operation)
