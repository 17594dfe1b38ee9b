"""Copies the updates of a scatter for IREE, if they are a view of the tensor that they update.

IREE updates the tensor in place in the kernel that reads the view, so it may read elements that are
already updated: `x.index_copy(0, i, x[:2])` is wrong.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.iree.barriers import barrier_before
from pipelines.pipeline import Step

_VIEWS = (
    "tensor.cast",
    "tensor.collapse_shape",
    "tensor.expand_shape",
    "tensor.extract_slice",
)
# The places of the updates, and of the tensor that is updated, among the operands.
_OPERANDS = {"tm_tensor.scatter": (0, 2), "tensor.insert_slice": (0, 1)}


def copy_overlapping_updates(module: ir.Module) -> None:
    """Puts a barrier before such updates. Changes the IR in place."""
    with module.context:
        for update in find_operations(module, lambda each: each.name in _OPERANDS):
            new, old = _OPERANDS[update.name]
            if _viewed(update.operands[new]) == _viewed(update.operands[old]):
                barrier_before(update, new)


def _viewed(value: ir.Value) -> ir.Value:
    """Returns the tensor of which a value is a view, or the value itself."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _VIEWS:
        value = value.owner.operation.operands[0]
    return value


COPY_OVERLAPPING_UPDATES = Step(
    "iree-copy-overlapping-updates",
    "copy the updates of a scatter that are a view of the updated tensor; IREE reads updated "
    "elements",
    copy_overlapping_updates,
)
