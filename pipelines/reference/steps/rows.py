"""Fuses the row loops of operations that work row by row on the same large buffers.

A softmax reads its input three times and its result twice. If these are larger than the cache,
each read costs as much as the arithmetic. With fused loops, all operations but the first find their
row in the cache. The same operations compute each row in the same order, so results do not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction, indexing_maps, loop_sizes
from pipelines.ir.lazy_dialects import arith, memref, scf
from pipelines.ir.modules import find_operations
from pipelines.ir.sizes import element_bytes
from pipelines.reference.analysis.aliasing import VIEWS, memory_block

# An attribute of the created loops. Their iterations may run in any order.
ROWS = "unmess.rows"
# Bytes of the shared buffers of a group below which they stay in the cache between operations.
LITTLE = 512 * 1024
# Bytes of one row of every buffer of a group, so that the first-level caches hold them.
_ROW = 64 * 1024
# Elements of a row below which the loops cost more than the cache saves.
SHORT = 64
# Maximum number of operations in a group: LLVM takes much longer for long functions.
_MOST = 12
# Operations that may be between those of a group. The loop goes after them.
_BETWEEN = ("arith.", "memref.alloc", "memref.get_global", *VIEWS)


def fuse_row_loops(module: ir.Module) -> None:
    """Moves neighboring linalg operations on memrefs into shared loops over their rows."""
    with module.context, ir.Location.unknown():
        holders = find_operations(module, lambda each: each.name != "linalg.generic")
        for block in [block for each in holders for region in each.regions for block in region]:
            for group in list(_groups(block)):
                depth = group.depth()
                if depth:
                    _emit(group.operations, group.shared[:depth])


@dataclass
class _Group:
    """Operations with the same outer loops.

    Attributes:
        shared: the sizes of the outer loops that all of them have.
    """

    operations: list[ir.Operation]
    shared: tuple[int, ...]
    accesses: list[_Access] = field(default_factory=list)

    @classmethod
    def of(cls, operation: ir.Operation) -> _Group:
        group = cls([operation], _outer(operation))
        group.accesses = list(_accesses(operation))
        return group

    def with_(self, operation: ir.Operation) -> _Group | None:
        """Returns the group with one more operation; None if it cannot share the loops."""
        other = _Group.of(operation)
        depth = 0
        for mine, theirs in zip(self.shared, other.shared, strict=False):
            if mine != theirs:
                break
            depth += 1
        larger = _Group(
            [*self.operations, operation], self.shared[:depth], self.accesses + other.accesses
        )
        known = {access.block for access in self.accesses}
        related = any(access.block in known for access in other.accesses) or _fills(operation)
        if not related or len(larger.operations) > _MOST or not larger._usable(depth):
            return None
        if self._usable(len(self.shared)) and larger._row_bytes(depth) > max(
            _ROW, self._row_bytes(len(self.shared))
        ):
            return None
        return larger

    def depth(self) -> int:
        """Returns how many of the outer loops to share; 0 if sharing gains nothing."""
        while _fills(self.operations[-1]):
            self.operations.pop()
            if not self.operations:
                return 0
        self.accesses = [a for operation in self.operations for a in _accesses(operation)]
        if len(self.operations) < 2 or self._bytes() < LITTLE:
            return 0
        for depth in range(1, len(self.shared) + 1):
            if self._usable(depth) and self._row_bytes(depth) <= _ROW:
                break
        else:
            depth = len(self.shared)
        rows = math.prod(self.shared[:depth])
        longest = max(access.elements for access in self.accesses)
        return depth if rows > 1 and self._usable(depth) and longest // rows >= SHORT else 0

    def _usable(self, depth: int) -> bool:
        """Returns whether no row reads or writes data that another row writes."""
        if not depth:
            return False
        written = {access.block for access in self.accesses if access.writes}
        if any(access.block is None for access in self.accesses):
            return False
        rows: dict[ir.Value | str, tuple] = {}
        for access in self.accesses:
            if access.block in written:
                shape = access.rows(self.shared[:depth])
                if shape is None or rows.setdefault(access.block, shape) != shape:
                    return False
        return True

    def _bytes(self) -> int:
        """Returns the total size of the buffers that are used more than once."""
        uses: dict[ir.Value | str, list[int]] = {}
        for access in self.accesses:
            uses.setdefault(access.block, []).append(access.bytes)
        return sum(sizes[0] for sizes in uses.values() if len(sizes) > 1)

    def _row_bytes(self, depth: int) -> float:
        sizes = {access.block: access.bytes for access in self.accesses}
        return sum(sizes.values()) / math.prod(self.shared[:depth])


@dataclass(frozen=True)
class _Access:
    """How an operation uses one of its operands.

    Attributes:
        block: the memory block of the operand; None if unknown.
    """

    value: ir.Value
    block: ir.Value | str | None
    indexing: ir.AffineMap
    writes: bool

    @property
    def elements(self) -> int:
        return math.prod(self.value.type.shape)

    @property
    def bytes(self) -> int:
        return self.elements * element_bytes(self.value.type.element_type)

    def splits(self) -> bool:
        """Returns whether each axis is indexed by a loop or a constant, and memory is dense."""
        return all(
            isinstance(each, ir.AffineDimExpr | ir.AffineConstantExpr)
            for each in self.indexing.results
        ) and _is_dense(self.value.type)

    def rows(self, shared: tuple[int, ...]) -> tuple | None:
        """Returns a key for the row layout, or None if the outer axes are not the shared loops.

        Accesses with equal keys split a block into the same rows.
        """
        axes = list(self.indexing.results)[: len(shared)]
        if len(axes) < len(shared) or tuple(self.value.type.shape[: len(shared)]) != shared:
            return None
        for position, (axis, size) in enumerate(zip(axes, shared, strict=True)):
            is_loop = isinstance(axis, ir.AffineDimExpr) and axis.position == position
            if not is_loop and size != 1:
                return None
        return self.elements, str(self.value.type.element_type)


def _groups(block: ir.Block) -> Iterator[_Group]:
    group: _Group | None = None
    for operation in block.operations:
        operation = operation.operation
        if operation.name == "linalg.generic" and _is_candidate(operation):
            larger = group.with_(operation) if group else None
            if group and not larger:
                yield group
            group = larger or _Group.of(operation)
        elif group and not operation.name.startswith(_BETWEEN):
            yield group
            group = None
    if group:
        yield group


def _is_candidate(generic: ir.Operation) -> bool:
    memrefs = [operand.type for operand in generic.operands]
    return (
        not generic.results
        and all(isinstance(each, ir.MemRefType) and each.has_static_shape for each in memrefs)
        and bool(_outer(generic))
        and find_contraction(generic) is None
        and all(access.splits() for access in _accesses(generic))
        and _is_self_contained(generic)
    )


def _is_self_contained(generic: ir.Operation) -> bool:
    """Returns whether the body uses only the elements: not their indices, and no other memory."""
    outside = ("linalg.index", "memref.")
    return not find_operations(generic, lambda inner: inner.name.startswith(outside))


def _outer(generic: ir.Operation) -> tuple[int, ...]:
    """Returns the sizes of the outer parallel loops."""
    sizes: list[int] = []
    kinds = ir.ArrayAttr(generic.attributes["iterator_types"])
    for kind, size in zip(kinds, loop_sizes(generic), strict=True):
        if "parallel" not in str(kind) or size is None:
            break
        sizes.append(size)
    return tuple(sizes)


def _accesses(generic: ir.Operation) -> Iterator[_Access]:
    inputs = generic.attributes["operandSegmentSizes"][0]
    for index, (value, indexing) in enumerate(
        zip(generic.operands, indexing_maps(generic), strict=True)
    ):
        yield _Access(value, memory_block(value), indexing, index >= inputs)


def _fills(generic: ir.Operation) -> bool:
    return generic.attributes["operandSegmentSizes"][0] == 0


def _is_dense(memref_type: ir.MemRefType) -> bool:
    strides, offset = memref_type.get_strides_and_offset()
    expected = [math.prod(memref_type.shape[axis + 1 :]) for axis in range(memref_type.rank)]
    return offset == 0 and list(strides) == expected


def _emit(operations: list[ir.Operation], sizes: Iterable[int]) -> None:
    """Replaces the operations with one nest of loops over these sizes, at the last operation."""
    with ir.InsertionPoint(operations[-1]), operations[-1].location:
        zero, one, *ends = (
            arith.ConstantOp.create_index(number).result for number in (0, 1, *sizes)
        )
        indices: list[ir.Value] = []
        points: list[ir.InsertionPoint] = []
        for end in ends:
            with points[-1] if points else ir.InsertionPoint(operations[-1]):
                loop = scf.ForOp(zero, end, one)
            loop.operation.attributes[ROWS] = ir.UnitAttr.get()
            indices.append(loop.induction_variable)
            with ir.InsertionPoint(loop.body):
                scf.YieldOp([])
            points.append(ir.InsertionPoint.at_block_terminator(loop.body))
        with points[-1]:
            for operation in operations:
                operands = [_row(access, indices) for access in _accesses(operation)]
                copy = operation.clone()
                for index, operand in enumerate(operands):
                    copy.operation.operands[index] = operand
    for operation in operations:
        operation.erase()


def _row(access: _Access, indices: list[ir.Value]) -> ir.Value:
    """Returns the part of an operand that one iteration of the loops uses."""
    whole = access.value.type
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    offsets, values, sizes = [], [], []
    for expression, size in zip(access.indexing.results, whole.shape, strict=True):
        is_loop = isinstance(expression, ir.AffineDimExpr) and expression.position < len(indices)
        if is_loop:
            values.append(indices[expression.position])
        offsets.append(dynamic if is_loop else 0)
        sizes.append(1 if is_loop else size)
    if not values:
        return access.value
    strides, _ = whole.get_strides_and_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, strides)
    part = ir.MemRefType.get(sizes, whole.element_type, layout)
    ones = [1] * whole.rank
    return memref.SubViewOp(part, access.value, values, [], [], offsets, sizes, ones).result
