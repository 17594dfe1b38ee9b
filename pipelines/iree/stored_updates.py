"""Stores operands of updates in memory of their own, where IREE compiles the update incorrectly.

- Updates that are a view of the updated tensor: IREE updates the tensor in place in the kernel that
  reads the view, so `x.index_copy(0, i, x[:2])` may read elements that are already updated.
- Updates of a scatter that are converted to a wider type, or that are all the same number: IREE
  computes all of them on the stack of the kernel, and does not compile it if they are larger than
  the stack.
- A slice that a scatter updates, such as the row of `x[1].index_put((i,), v)`: IREE copies the
  slice in the kernel of the scatter, and does not compile that copy.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import block_of, producer_named, terminator
from pipelines.iree.barriers import barrier_before, copy_before
from pipelines.iree.updates import is_slice, viewed
from pipelines.pipeline import Step

_SCATTER = "tm_tensor.scatter"
# The places of the updates, and of the tensor that is updated, among the operands.
_OPERANDS = {_SCATTER: (0, 2), "tensor.insert_slice": (0, 1)}
_WIDENINGS = ("arith.extf", "arith.extsi", "arith.extui", "arith.sitofp", "arith.uitofp")


def store_updates(module: ir.Module) -> None:
    """Copies such operands before the update. Changes the IR in place."""
    with module.context:
        for update in find_operations(module, lambda each: each.name in _OPERANDS):
            new, old = _OPERANDS[update.name]
            source = viewed(update.operands[new])
            is_on_stack = update.name == _SCATTER and (_is_widened(source) or _is_number(source))
            if is_on_stack or source == viewed(update.operands[old]):
                barrier_before(update, new)
            if update.name == _SCATTER and is_slice(update.operands[old]):
                copy_before(update, old)


def _is_widened(value: ir.Value) -> bool:
    generic = producer_named(value, "linalg.generic")
    return generic is not None and any(
        each.operation.name in _WIDENINGS for each in generic.regions[0].blocks[0].operations
    )


def _is_number(value: ir.Value) -> bool:
    """Returns whether a tensor is filled with one number."""
    if producer_named(value, "linalg.fill") is not None:
        return True
    generic = producer_named(value, "linalg.generic")
    if generic is None:
        return False
    block = generic.regions[0].blocks[0]
    number = terminator(block).operands[list(generic.results).index(value)]
    return block_of(number) != block


STORE_UPDATES = Step(
    "iree-store-updates",
    "store updates that are a view of the updated tensor, widened or one number, and slices that "
    "a scatter updates; IREE reads updated elements, has too small a stack, or does not compile "
    "the copy",
    store_updates,
)
