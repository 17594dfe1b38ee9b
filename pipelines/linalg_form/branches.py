"""Writes choices between tensors as branches.

MLIR's canonicalization turns an `scf.if` without operations into `arith.select`. torch-mlir's
verification of linalg IR rejects `arith.select` of tensors, such as the one from
`torch.cond(c, lambda x, y: x.clone(), lambda x, y: y.clone(), (x, y))`.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import scf
from pipelines.ir.modules import find_operations, replace_operations
from pipelines.pipeline import Step


def branch_to_tensors(module: ir.Module) -> None:
    """Replaces each `arith.select` of tensors by an `scf.if`. Changes the IR in place."""
    with module.context:
        replace_operations(find_operations(module, _chooses_tensors), _branch)


def _branch(select: ir.Operation) -> ir.Value:
    condition, *choices = select.operands
    branch = scf.IfOp(condition, [select.result.type], has_else=True)
    for block, choice in zip((branch.then_block, branch.else_block), choices, strict=True):
        with ir.InsertionPoint(block):
            scf.YieldOp([choice])
    return branch.results[0]


def _chooses_tensors(operation: ir.Operation) -> bool:
    """Returns whether an operation chooses one of two tensors, not each element of one."""
    return (
        operation.name == "arith.select"
        and isinstance(operation.results[0].type, ir.RankedTensorType)
        and not isinstance(operation.operands[0].type, ir.RankedTensorType)
    )


TENSOR_BRANCHES = Step(
    "linalg-tensor-branches",
    "write choices between tensors as branches; the verification rejects arith.select of them",
    branch_to_tensors,
)
