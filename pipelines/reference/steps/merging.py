"""Merges neighboring loops over parts, so that threads wait for each other less often.

A thread goes on with its part of the next operation, while another one still computes its part of
the one before. That is right if no part of the second operation needs data of another part of the
first one. It also finds more of its data in its own cache.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import block_of, constant_integer, producer_named, terminator
from pipelines.reference.analysis.aliasing import VIEWS
from pipelines.reference.analysis.regions import Region, overlap, regions
from pipelines.reference.steps.splitting import PARTS, split_little

# Operations without effects. They are moved before a loop if a merged loop needs their results.
_PURE = ("arith.", "memref.alloc", "memref.get_global", *VIEWS)
# Bytes of the temporaries of a merged loop. They are all alive until its end, and memory that is
# used again and again stays in the caches.
_MOST = 8 << 20


def merge_parts(module: ir.Module) -> None:
    """Merges loops over parts in the same block, in place."""
    with module.context, ir.Location.unknown():
        holders = {
            (loop.parent.operation, loop.block)
            for loop in find_operations(module, lambda each: PARTS in each.attributes)
        }
        for _, block in holders:
            _merge(block)


@dataclass
class Team:
    """A loop over parts, and what it accesses.

    Attributes:
        count: the number of parts.
    """

    loop: ir.Operation
    count: int
    regions: list[Region]

    @classmethod
    def of(cls, loop: ir.Operation) -> Team | None:
        """Returns None if not all accesses are known."""
        body = loop.regions[0].blocks[0]
        found: list[Region] = []
        for operation in body.operations:
            accesses = regions(operation.operation, body.arguments[0])
            if accesses is None:
                return None
            found += accesses
        return cls(loop, constant_integer(loop.operands[1]), found)

    def may_merge(self, other: Team) -> bool:
        """Returns whether a later loop may become a part of this one."""
        if other.count != self.count:
            return False
        pairs = [*itertools.permutations(range(self.count), 2)]
        blocks = {
            each.block: each.bytes
            for each in (*self.regions, *other.regions)
            if isinstance(each.block, ir.Value) and producer_named(each.block, "memref.alloc")
        }
        return sum(blocks.values()) <= _MOST and not self._conflicts(other.regions, pairs)

    def may_follow(self, accesses: list[Region] | None) -> bool:
        """Returns whether the loop may be executed after a later operation with these accesses."""
        pairs = [(part, 0) for part in range(self.count)]
        return accesses is not None and not self._conflicts(accesses, pairs)

    def _conflicts(self, others: list[Region], pairs: Iterable[tuple[int, int]]) -> bool:
        return any(overlap(mine, other, pairs) for mine in self.regions for other in others)

    def merge(self, other: Team) -> None:
        """Moves the body of a later loop to the end of this one's."""
        body, theirs = self.loop.regions[0].blocks[0], other.loop.regions[0].blocks[0]
        theirs.arguments[0].replace_all_uses_with(body.arguments[0])
        *operations, _ = theirs.operations
        for operation in operations:
            operation.operation.move_before(terminator(body))
        other.loop.erase()
        self.regions += other.regions


def _merge(block: ir.Block) -> None:
    team: Team | None = None
    *operations, _ = [each.operation for each in block.operations]
    for operation in operations:
        if operation.name.startswith(_PURE):
            continue
        if PARTS in operation.attributes:
            other = Team.of(operation)
            if team and other and team.may_merge(other) and _move_operands(operation, team.loop):
                team.merge(other)
            else:
                team = other
        elif team and not _merge_little(operation, team):
            if team.may_follow(regions(operation)) and _move_operands(operation, team.loop):
                operation.move_before(team.loop)
            else:
                team = None


def _merge_little(operation: ir.Operation, team: Team) -> bool:
    """Splits and merges an operation that is too small to be split alone, if possible."""
    for loop in split_little(operation, team.count):
        other = Team.of(loop)
        if other and team.may_merge(other) and _move_operands(loop, team.loop):
            team.merge(other)
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
