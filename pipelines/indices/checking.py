"""Checks the computed indices of a program, for every runner."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir.passmanager import PassManager

from pipelines.indices.accesses import FIRST_INDEX, SCATTER, SLICES, unproved
from pipelines.indices.bodies import Body, check_body, clamp_index
from pipelines.indices.flags import OUT_OF_RANGE
from pipelines.indices.loops import enclosing_generic
from pipelines.indices.scatter import check_scatter
from pipelines.indices.slices import OUTSIDE, slice_axes
from pipelines.indices.values import number, size_of, size_value
from pipelines.ir.lazy_dialects import arith, cf
from pipelines.ir.modules import find_operations
from pipelines.pipeline import Step


def check_indices(module: ir.Module) -> None:
    """Adds checks of indices that are not proved to be in range, in place.

    An index out of range is replaced by 0, so that no other memory is accessed. An assertion on the
    host, with the location of the access, ends the call. Another one, before the access, requires
    that an axis of dynamic size is not empty. Assertions in the bodies of linalg operations become
    host assertions, too, because IREE drops them in bodies.

    Raises:
        Error: stage `compile`, for an access that cannot be checked.
    """
    bodies: dict[ir.Operation, Body] = {}
    accesses = unproved(module)
    with module.context:
        for operation, axes in accesses.items():
            generic = enclosing_generic(operation)
            if generic is not None:
                bodies.setdefault(generic, Body(generic)).accesses.append((operation, axes))
                continue
            with ir.InsertionPoint(operation), operation.location:
                if operation.name == SCATTER:
                    check_scatter(operation)
                elif operation.name in SLICES:
                    check_slice(operation, axes)
                else:
                    check_element(operation, axes)
        for assertion in find_operations(module, lambda each: each.name == "cf.assert"):
            generic = enclosing_generic(assertion)
            if generic is not None:
                bodies.setdefault(generic, Body(generic)).assertions.append(assertion)
        for body in bodies.values():
            check_body(body)
        if accesses or bodies:
            # Merge equal checks.
            PassManager.parse("builtin.module(canonicalize,cse)").run(module.operation)
            _drop_repeated(module)


def _drop_repeated(module: ir.Module) -> None:
    """Erases assertions whose condition the same block already asserts earlier, in place."""
    asserted: set[tuple[ir.Operation, int, ir.Value]] = set()
    for assertion in find_operations(module, lambda each: each.name == "cf.assert"):
        # Identify a block by its parent operation and its position in it.
        parent, block = assertion.parent.operation, assertion.operation.block
        place = [each for region in parent.regions for each in region.blocks].index(block)
        known = (parent, place, assertion.operands[0])
        if known in asserted:
            assertion.erase()
        asserted.add(known)


CHECK_INDICES = Step(
    "check-indices",
    "check indices that may be out of range, so that no other memory is accessed",
    check_indices,
)


def check_element(access: ir.Operation, axes: list[int]) -> None:
    """Asserts at the insertion point that indices are in range; replaces others by 0."""
    first = FIRST_INDEX[access.name]
    for axis in axes:
        size = size_of(access.operands[first - 1], axis)
        inside, safe = clamp_index(access.operands[first + axis], size)
        cf.AssertOp(inside, OUT_OF_RANGE)
        access.operands[first + axis] = safe


def check_slice(operation: ir.Operation, axes: list[int]) -> None:
    """Asserts at the insertion point that a slice is in range; replaces other offsets by 0."""
    every = slice_axes(operation)
    for axis in axes:
        part = every[axis]
        inside = part.is_inside()
        cf.AssertOp(inside, OUTSIDE)
        if part.operand is not None:
            start = number(0, ir.IndexType.get())
            safe = arith.SelectOp(inside, size_value(part.offset), start).result
            operation.operands[part.operand] = safe
