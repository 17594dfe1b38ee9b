"""Passes each tensor of a loop or branch in a buffer that is not passed twice.

A branch of IREE's VM moves the reference to a buffer if it is the last use. If the branch passes
the buffer twice, and one of both references stays in its register, the move clears that register
(iree-org/iree pull request 24781). The program stops at the missing buffer, or does not wait for
the kernel that writes it. IREE also allocates one buffer for several tensors.

Behind a barrier, a tensor that is a part of a buffer becomes a buffer of its own, and IREE waits
for the kernel. If a branch passes a tensor twice, or two constants, which may be equal, all but the
first are copied.
"""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func
from pipelines.iree.barriers import barrier, barrier_before
from pipelines.iree.branch_operands import branches
from pipelines.iree.constant_operands import copy_elements
from pipelines.iree.updates import viewed

_CONSTANTS = ("arith.constant", "linalg.fill", "tensor.empty")
# Operations whose successors have no other predecessor. They pass values without a branch.
_WITHOUT_BRANCH = ("scf.condition", "cf.cond_br")


def separate_tensors(function: func.FuncOp, control_flow: Collection[ir.Operation]) -> None:
    """Separates the tensors that branches of a function pass, and these operations of `scf`.

    Changes the IR in place. A branch that passes a single tensor stays as it is.
    """
    for operation, first in list(branches(function, control_flow)):
        passed = [
            index
            for index in range(first, len(operation.operands))
            if isinstance(operation.operands[index].type, ir.RankedTensorType)
        ]
        if len(passed) > 1 and operation.name not in _WITHOUT_BRANCH:
            _separate(operation, passed)


def _separate(operation: ir.Operation, passed: list[int]) -> None:
    known: set[ir.Value | None] = set()
    for index in passed:
        value = operation.operands[index]
        source = _source(value)
        if source in known:
            with ir.InsertionPoint(operation), operation.location:
                # IREE would fold the copy of a constant.
                operation.operands[index] = copy_elements(barrier(value))
        known.add(source)
        barrier_before(operation, index)


def _source(value: ir.Value) -> ir.Value | None:
    """Returns the tensor of which a value is a view; None for all constants."""
    value = viewed(value)
    if isinstance(value.owner, ir.Block):
        return value
    return None if value.owner.operation.name in _CONSTANTS else value
