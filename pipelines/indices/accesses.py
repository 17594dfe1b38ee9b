"""Finds accesses that are not proved to be in range."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.indices.loops import counted_by, enclosing_generic, loop_sizes
from pipelines.indices.ranges import Ranges
from pipelines.indices.scatter import limits
from pipelines.indices.slices import slice_axes
from pipelines.indices.values import Size, compare, number, origin, size_of
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from pipelines.ir.values import constant_integer, producer

# Accesses to single elements, and the position of their first index among the operands.
FIRST_INDEX = {"memref.load": 1, "memref.store": 2, "tensor.extract": 1, "tensor.insert": 2}
SLICES = ("memref.subview", "tensor.extract_slice", "tensor.insert_slice")
SCATTER = "tm_tensor.scatter"


@dataclass(frozen=True)
class _Question:
    """The question whether an axis of an access is always in range.

    Attributes:
        answer: index of the answer in `Ranges.proved`; None if range analysis cannot prove it.
    """

    access: ir.Operation
    axis: int
    answer: int | None


def unproved(module: ir.Module) -> dict[ir.Operation, list[int]]:
    """Returns the accesses that may be out of range, each with the axes that may be.

    An access is to an element or a slice of a tensor or a buffer, or a scatter (axis 0).
    """
    ranges = Ranges(module.context)
    questions: list[_Question] = []
    accesses = (*FIRST_INDEX, *SLICES, SCATTER)
    with module.context:
        for operation in find_operations(module, lambda each: each.name in accesses):
            questions += _questions(operation, ranges)
    proved = ranges.proved()
    found: dict[ir.Operation, list[int]] = {}
    for question in questions:
        if question.answer is None or not proved[question.answer]:
            found.setdefault(question.access, []).append(question.axis)
    return found


def _questions(operation: ir.Operation, ranges: Ranges) -> list[_Question]:
    if operation.name in FIRST_INDEX:
        return _about_element(operation, ranges)
    if operation.name in SLICES:
        return _about_slice(operation, ranges)
    bounds = limits(operation)
    answer = None if bounds is None else ranges.add([operation.operands[1]], _below(min(bounds)))
    return [_Question(operation, 0, answer)]


def _about_element(operation: ir.Operation, ranges: Ranges) -> list[_Question]:
    first = FIRST_INDEX[operation.name]
    whole = operation.operands[first - 1]
    questions = []
    for axis, index in enumerate(list(operation.operands)[first:]):
        size = size_of(whole, axis)
        if not _is_counted(operation, index, size):
            answer = ranges.add([index], _below(size)) if isinstance(size, int) else None
            questions.append(_Question(operation, axis, answer))
    return questions


def _about_slice(operation: ir.Operation, ranges: Ranges) -> list[_Question]:
    questions = []
    for axis, part in enumerate(slice_axes(operation)):
        if part.is_trivial:
            continue
        answer = None
        if part.places is not None and part.operand is not None:
            answer = ranges.add([operation.operands[part.operand]], _below(part.places))
        questions.append(_Question(operation, axis, answer))
    return questions


def _below(limit: int) -> Callable[[ir.Value], ir.Value]:
    # As unsigned numbers, negative ones are large.
    return lambda index: compare(arith.CmpIPredicate.ult, index, number(limit, index.type))


def _is_counted(access: ir.Operation, index: ir.Value, size: Size) -> bool:
    """Returns whether an index counts a loop with no more iterations than the axis has elements."""
    generic, loop = enclosing_generic(access), counted_by(index)
    if generic is not None and loop is not None:
        steps = loop_sizes(generic, loop)
    elif producer(index) is None and ir.BlockArgument(index).arg_number == 0:
        owner = index.owner.owner.operation
        first = constant_integer(owner.operands[0]) if owner.name == "scf.for" else None
        if first is None or first < 0:
            return False
        steps = [origin(owner.operands[1])]
    else:
        return False
    return any(
        each == size or (isinstance(each, int) and isinstance(size, int) and each <= size)
        for each in steps
    )
