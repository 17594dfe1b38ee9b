"""Keeps IREE from fusing operations that read more tensors than a kernel may have buffers.

IREE fuses elementwise operations and reductions without counting their tensors, so that it does not
load the sum of 40 tensors: "binding count 42 > 32".
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import block_of, producer_named
from pipelines.iree.barriers import barrier_before
from pipelines.iree.updates import CONSTANTS, VIEWS, viewed
from pipelines.pipeline import Step

# The largest number of tensors that fused operations may read. A kernel has at most 32 buffers,
# which also hold its results, and the operands of a product that is fused into it.
_LARGEST = 24
# Operations that IREE fuses into those that read their result.
_FUSED = {"linalg.generic", "linalg.broadcast", "linalg.transpose"}


def limit_buffers(module: ir.Module) -> None:
    """Puts barriers before operands of operations that would read too many tensors, in place."""
    with module.context:
        kernels = _Kernels()
        for operation in find_operations(module, _computes_tensors):
            kernels.add(operation)


class _Kernels:
    """The tensors that kernels read, if IREE fuses all operations that it may fuse."""

    def __init__(self) -> None:
        # For the result of a fused operation: the tensors that its kernel reads.
        self._read: dict[ir.Value, set[ir.Value]] = {}
        # The number of kernels that have to run one after the other before a tensor is known.
        self._depth: dict[ir.Value, int] = {}

    def add(self, operation: ir.Operation) -> None:
        """Adds an operation, after its producers.

        Cuts off the producers that read the most tensors while they are too many.
        """
        if not operation.name.startswith("linalg."):
            depth = self._deepest(map(viewed, operation.operands)) + 1
            self._depth.update((result, depth) for result in operation.results)
            return
        read = self._read_by_operands(operation)
        captured = _captured(operation)
        while len(tensors := captured.union(*read)) > _LARGEST:
            widest = max(range(len(read)), key=lambda index: len(read[index]))
            if len(read[widest]) < 2:
                break
            barrier_before(operation, widest)
            kept = operation.operands[widest]
            self._depth[kept] = self._deepest(read[widest]) + 1
            read[widest] = {kept}
        depth = self._deepest(tensors)
        for result in operation.results:
            if operation.name in _FUSED:
                self._read[result] = tensors
                self._depth[result] = depth
            else:
                self._depth[result] = depth + 1

    def _read_by_operands(self, operation: ir.Operation) -> list[set[ir.Value]]:
        operands = [viewed(operand) for operand in operation.operands]
        deepest = self._deepest(operands)
        return [self._read_for(value, deepest) for value in operands]

    def _read_for(self, value: ir.Value, deepest: int) -> set[ir.Value]:
        """Returns the tensors that a kernel reads for the operand of an operation.

        Args:
            deepest: the depth of all operands of the operation.
        """
        if not isinstance(value.type, ir.RankedTensorType):
            return set()
        if producer_named(value, *CONSTANTS) is not None:
            # IREE computes it inside of the kernel.
            return set()
        if self._depth.get(value, 0) < deepest and len(list(value.uses)) > 1:
            # Another operand is known later, and is probably computed from this one, which is
            # stored then.
            return {value}
        return self._read.get(value, {value})

    def _deepest(self, values: Iterable[ir.Value]) -> int:
        return max((self._depth.get(value, 0) for value in values), default=0)


def _computes_tensors(operation: ir.Operation) -> bool:
    return operation.name not in VIEWS | CONSTANTS and any(
        isinstance(result.type, ir.RankedTensorType) for result in operation.results
    )


def _captured(operation: ir.Operation) -> set[ir.Value]:
    """Returns the tensors that the body of an operation reads at computed indices."""
    if operation.name != "linalg.generic":
        return set()
    body = operation.regions[0].blocks[0]
    return {
        each.operands[0]
        for each in find_operations(operation, lambda each: each.name == "tensor.extract")
        if block_of(each.operands[0]) != body
    }


LIMIT_BUFFERS = Step(
    "iree-limit-buffers",
    "put barriers between operations that together read more than 24 tensors; IREE fuses them "
    "to kernels with more buffers than its runtime supports",
    limit_buffers,
)
