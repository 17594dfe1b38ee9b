"""Checks each `tensor.extract` at a computed index in the body of a `linalg.generic`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from torch_mlir import ir

from pipelines.indices.flags import OUT_OF_RANGE, require_everywhere, require_valid_index
from pipelines.indices.loops import counted_by, enclosing_generic, loops_in
from pipelines.indices.values import Size, compare, number, size_of, size_value
from pipelines.ir.contraction import indexing_maps
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations, replace_operands
from pipelines.ir.values import producer, producer_named
from unmess.core.errors.error import Error
from unmess.core.errors.user_source import location_line

# torch-mlir's assertions about the index of a following `tensor.extract`, which is checked anyway.
_REDUNDANT = {"index must be smaller than dim size", "index must be larger or equal to 0"}


@dataclass
class Body:
    """The accesses in one `linalg.generic` to check.

    Attributes:
        accesses: `tensor.extract` operations, each with the axes that may be out of range.
        assertions: the `cf.assert` operations in the body.
    """

    generic: ir.Operation
    accesses: list[tuple[ir.Operation, list[int]]] = field(default_factory=list)
    assertions: list[ir.Operation] = field(default_factory=list)


def clamp_index(index: ir.Value, size: Size) -> tuple[ir.Value, ir.Value]:
    """Returns whether an index is in range, and the index, or 0 if it is not.

    An index that was cast from i64 is compared as i64, because a device may have an index type of
    32 bits.
    """
    cast = producer_named(index, "arith.index_cast")
    wide = index
    if cast is not None and _is_wide(cast.operands[0].type):
        wide = cast.operands[0]
    # As unsigned numbers, negative ones are large.
    inside = compare(arith.CmpIPredicate.ult, wide, size_value(size, wide.type))
    safe = arith.SelectOp(inside, wide, number(0, wide.type)).result
    if wide is not index:
        safe = arith.IndexCastOp(index.type, safe).result
    return inside, safe


def _is_wide(type: ir.Type) -> bool:
    return isinstance(type, ir.IntegerType) and type.width == 64


def check_body(body: Body) -> None:
    """Asserts before an operation that indices in its body are in range; others become 0."""
    generic = body.generic
    required: list[tuple[_Condition, str, ir.Location]] = []
    for access, axes in body.accesses:
        sizes = {axis: _size_before(generic, access.operands[0], axis) for axis in axes}
        branches = _branches(access, generic)
        if not branches:
            with ir.InsertionPoint(generic), access.location:
                for size in sizes.values():
                    require_valid_index(size_value(size), _all_steps(generic))
        with ir.InsertionPoint(access), access.location:
            for axis, size in sizes.items():
                inside, safe = clamp_index(access.operands[1 + axis], size)
                access.operands[1 + axis] = safe
                condition = _Condition(inside, branches)
                required.append((condition, OUT_OF_RANGE, access.location))
    for assertion in body.assertions:
        message = ir.StringAttr(assertion.attributes["msg"]).value
        if message not in _REDUNDANT or not body.accesses:
            condition = _Condition(assertion.operands[0], _branches(assertion, generic))
            required.append((condition, message, assertion.location))
    groups: dict[tuple[frozenset[int], str], tuple[list[_Condition], ir.Location]] = {}
    for condition, message, location in required:
        loops = frozenset(Slice(generic, [condition]).loops)
        groups.setdefault((loops, message), ([], location))[0].append(condition)
    for (_, message), (conditions, location) in groups.items():
        with ir.InsertionPoint(generic), location:
            Slice(generic, conditions).require(message)
    for assertion in body.assertions:
        assertion.erase()


@dataclass(frozen=True)
class _Condition:
    """A condition in a body, and its enclosing branches.

    A branch is the condition of an `scf.if`, and whether the block is executed if that holds.
    """

    value: ir.Value
    branches: tuple[tuple[ir.Value, bool], ...]

    @property
    def values(self) -> list[ir.Value]:
        return [self.value, *(taken for taken, _ in self.branches)]

    def at(self, copies: Mapping[ir.Value, ir.Value]) -> ir.Value:
        """Creates the condition from copies of its values; true if the branches are not taken."""
        condition = copies.get(self.value, self.value)
        true = number(1, condition.type)
        for taken, is_first in self.branches:
            taken = copies.get(taken, taken)
            skipped = arith.XOrIOp(taken, true).result if is_first else taken
            condition = arith.OrIOp(condition, skipped).result
        return condition


def _branches(operation: ir.Operation, generic: ir.Operation) -> tuple[tuple[ir.Value, bool], ...]:
    found = []
    block = operation.operation.block
    while block != generic.regions[0].blocks[0]:
        branch = block.owner.operation
        if branch.name != "scf.if":
            raise _unhoistable(operation)
        found.append((branch.operands[0], branch.regions[0].blocks[0] == block))
        block = branch.block
    return tuple(found)


def _unhoistable(operation: ir.Operation) -> Error:
    return Error(
        "compile",
        f"cannot check the index of {operation.name} inside a loop in a linalg.generic",
        where=location_line(operation.location),
        hint="move the loop out of the linalg.generic, or load the program with "
        "unchecked=True (--unchecked)",
    )


def _size_before(generic: ir.Operation, tensor: ir.Value, axis: int) -> Size:
    """Returns a size, as a value that is defined before the operation."""
    size = size_of(tensor, axis)
    if isinstance(size, int):
        return size
    with ir.InsertionPoint(generic), generic.location:
        return size_value((tensor, axis))


class Slice:
    """The backward slice of conditions in the body of a `linalg.generic`.

    Attributes:
        loops: the loops over the elements that the conditions depend on.
    """

    def __init__(self, generic: ir.Operation, conditions: Sequence[_Condition]):
        self._generic, self._conditions = generic, conditions
        self._operations: dict[ir.Operation, None] = {}
        self._arguments: dict[int, ir.Value] = {}
        for condition in conditions:
            for value in condition.values:
                self._collect(value)
        maps = indexing_maps(generic)
        self.loops = {
            counted_by(result)
            for operation in self._operations
            for result in operation.results
            if counted_by(result) is not None
        }.union(
            *(
                loops_in(expression)
                for position in self._arguments
                for expression in maps[position].results
            )
        )

    def require(self, message: str) -> None:
        """Creates an assertion of the conditions at the insertion point."""
        generic, maps = self._generic, indexing_maps(self._generic)
        loops = sorted(self.loops)
        new = [
            ir.AffineDimExpr.get(loops.index(old))
            if old in self.loops
            else ir.AffineConstantExpr.get(0)
            for old in range(maps[0].n_dims)
        ]
        to_new = ir.AffineMap.get(len(loops), 0, new)
        inputs = [
            (
                generic.operands[position],
                ir.AffineMap.get(
                    len(loops), 0, [each.compose(to_new) for each in maps[position].results]
                ),
            )
            for position in self._arguments
        ]
        steps = _all_steps(generic)
        require_everywhere(
            [steps[loop] for loop in loops],
            inputs,
            lambda elements: self._copied(elements, loops),
            message,
            outer=[size for loop, size in enumerate(steps) if loop not in self.loops],
        )

    def _copied(self, elements: Sequence[ir.Value], loops: Sequence[int]) -> list[ir.Value]:
        copies = dict(zip(self._arguments.values(), elements, strict=True))
        for operation in self._operations:
            copy = operation.clone().operation
            replace_operands(copy, copies)
            if copy.name == "linalg.index":
                axis = ir.IntegerType.get_signless(64)
                loop = loops.index(counted_by(copy.result))
                copy.attributes["dim"] = ir.IntegerAttr.get(axis, loop)
            copies.update(zip(operation.results, copy.results, strict=True))
        return [condition.at(copies) for condition in self._conditions]

    def _collect(self, value: ir.Value) -> None:
        """Collects the operations that a value depends on, operands first."""
        stack = [(value, False)]
        while stack:
            current, has_operands = stack.pop()
            operation = producer(current)
            if operation is None:
                owner = current.owner.owner.operation
                if owner == self._generic:
                    self._arguments[ir.BlockArgument(current).arg_number] = current
                elif self._contains(owner):
                    raise _unhoistable(owner)
            elif has_operands:
                self._operations.setdefault(operation)
            elif operation not in self._operations and self._contains(operation):
                stack.append((current, True))
                stack.extend((operand, False) for operand in _read_by(operation))

    def _contains(self, operation: ir.Operation) -> bool:
        generic = enclosing_generic(operation)
        return generic is not None and generic == self._generic


def _read_by(operation: ir.Operation) -> list[ir.Value]:
    """Returns the outer values that an operation and its nested operations read."""
    inner: set[ir.Value] = set()
    found: list[ir.Value] = []
    for each in find_operations(operation, lambda _: True):
        found.extend(each.operands)
        inner.update(each.results)
        for region in each.regions:
            for block in region.blocks:
                inner.update(block.arguments)
    return [value for value in found if value not in inner]


def _all_steps(generic: ir.Operation) -> list[Size]:
    return [_steps(generic, loop) for loop in range(indexing_maps(generic)[0].n_dims)]


def _steps(generic: ir.Operation, loop: int) -> Size:
    """Returns the number of iterations of a loop."""
    found: Size | None = None
    for operand, indexing in zip(generic.operands, indexing_maps(generic), strict=True):
        for axis, expression in enumerate(indexing.results):
            if isinstance(expression, ir.AffineDimExpr) and loops_in(expression) == {loop}:
                found = operand, axis
                if not operand.type.is_dynamic_dim(axis):
                    return operand.type.shape[axis]
    return found
