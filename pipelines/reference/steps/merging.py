"""Merges neighboring loops over parts, so that threads wait for each other less often.

A thread goes on with its part of the next operation, while another one still computes its part of
the one before. That is right if no part of the second operation needs data of another part of the
first one. It also finds more of its data in its own cache.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import block_of, constant_integer, producer_named, terminator
from pipelines.reference.analysis.aliasing import VIEWS
from pipelines.reference.analysis.regions import Region, overlap, regions
from pipelines.reference.steps.private_buffers import may_become_private
from pipelines.reference.steps.splitting import PARTS, split_little

# Operations without effects. They are moved before a loop if a merged loop needs their results.
_PURE = ("arith.", "memref.alloc", "memref.get_global", *VIEWS)
# Bytes of the temporaries of a merged loop that do not become private to a part. They are all alive
# until its end, and memory that is used again and again stays in the caches.
_MOST = 8 << 20


def merge_parts(module: ir.Module) -> None:
    """Merges loops over parts in the same block, in place."""
    with module.context, ir.Location.unknown():
        loops = find_operations(module, lambda each: PARTS in each.attributes)
        for block in dict.fromkeys(loop.block for loop in loops):
            _merge(block)


@dataclass
class _Loop:
    """Holds a loop over parts, with the elements that it reads and writes.

    Attributes:
        count: the number of parts.
    """

    operation: ir.Operation
    count: int
    regions: list[Region]

    @classmethod
    def of(cls, loop: ir.Operation) -> _Loop | None:
        """Returns None if the number of parts or an access is not known."""
        count = constant_integer(loop.operands[1])
        if count is None:
            return None
        body = loop.regions[0].blocks[0]
        found: list[Region] = []
        for operation in body.operations:
            accesses = regions(operation.operation, body.arguments[0])
            if accesses is None:
                return None
            found += accesses
        return cls(loop, count, found)

    def absorb(self, other: _Loop | None) -> bool:
        """Moves the body of a later loop to the end of this one's. Returns False if it may not."""
        if other is None or not self._may_absorb(other):
            return False
        if not _move_operands(other.operation, self.operation):
            return False
        body, theirs = self.operation.regions[0].blocks[0], other.operation.regions[0].blocks[0]
        theirs.arguments[0].replace_all_uses_with(body.arguments[0])
        *operations, _ = theirs.operations
        for operation in operations:
            operation.operation.move_before(terminator(body))
        other.operation.erase()
        self.regions += other.regions
        return True

    def _may_absorb(self, other: _Loop) -> bool:
        if other.count != self.count:
            return False
        blocks = {
            each.block: each.bytes
            for each in (*self.regions, *other.regions)
            if isinstance(each.block, ir.Value)
            and producer_named(each.block, "memref.alloc")
            and not may_become_private(each, self.count)
        }
        return sum(blocks.values()) <= _MOST and not self._conflicts(other.regions)

    def wait_for(self, operation: ir.Operation) -> bool:
        """Moves a later operation before the loop. Returns False if it may not."""
        accesses = regions(operation)
        if accesses is None or self._conflicts(accesses):
            return False
        if not _move_operands(operation, self.operation):
            return False
        operation.move_before(self.operation)
        return True

    def _conflicts(self, others: list[Region]) -> bool:
        return any(overlap(mine, other, self.count) for mine in self.regions for other in others)


def _merge(block: ir.Block) -> None:
    earlier: _Loop | None = None
    *operations, _ = [each.operation for each in block.operations]
    for operation in operations:
        if operation.name.startswith(_PURE):
            continue
        if PARTS in operation.attributes:
            loop = _Loop.of(operation)
            if earlier is None or not earlier.absorb(loop):
                earlier = loop
        elif earlier and not _absorb_little(operation, earlier) and not earlier.wait_for(operation):
            earlier = None


def _absorb_little(operation: ir.Operation, earlier: _Loop) -> bool:
    """Splits and merges an operation that is too small to be split alone, if possible."""
    for loop in split_little(operation, earlier.count):
        if earlier.absorb(_Loop.of(loop)):
            operation.erase()
            return True
        loop.erase()
    return False


def _move_operands(operation: ir.Operation, target: ir.Operation) -> bool:
    """Moves the definitions of all operands of an operation before an earlier one.

    Returns:
        False if that is impossible. Nothing is moved then.
    """
    needed: list[ir.Operation] = []
    for inner in find_operations(operation, lambda _: True):
        for value in inner.operands:
            if not _collect(value, target, needed):
                return False
    for each in needed:
        each.move_before(target)
    return True


def _collect(value: ir.Value, target: ir.Operation, needed: list[ir.Operation]) -> bool:
    """Adds the operations that define a value and must be moved, in their order.

    Returns whether all of them may be moved before `target`.
    """
    if block_of(value) != target.block or isinstance(value.owner, ir.Block):
        return True
    operation = value.owner.operation
    if operation in needed or operation.is_before_in_block(target):
        return True
    if not operation.name.startswith(_PURE):
        return False
    if not all(_collect(operand, target, needed) for operand in operation.operands):
        return False
    needed.append(operation)
    return True
