"""Computes one element of a tensor from elements of the tensors that it was computed from.

Follows elementwise operations of linalg, and reshapes with sizes of 1, to their operands. The
result is code for the body of another operation, which then needs no intermediate tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps
from pipelines.ir.values import producer


@dataclass(frozen=True)
class Index:
    """An index along an axis: a number plus a sum of loops times factors."""

    loops: tuple[tuple[int, int], ...] = ()
    number: int = 0

    @classmethod
    def of_loop(cls, loop: int) -> Index:
        """Returns the index that equals a loop."""
        return cls(((loop, 1),))

    @property
    def loop(self) -> int | None:
        """The loop that the index equals; None for other indices."""
        if len(self.loops) == 1 and self.loops[0][1] == 1 and not self.number:
            return self.loops[0][0]
        return None

    def plus(self, other: Index, factor: int) -> Index:
        """Returns `self + factor * other`."""
        loops = dict(self.loops)
        for loop, count in other.loops:
            loops[loop] = loops.get(loop, 0) + factor * count
        return Index(tuple(sorted(loops.items())), self.number + factor * other.number)


# Returns the element of a tensor at these indices, or None if there is none.
Leaf = Callable[[ir.Value, tuple[Index, ...]], ir.Value | None]


def element(
    value: ir.Value,
    at: Sequence[Index],
    leaf: Leaf,
    index: Callable[[Index], ir.Value],
) -> ir.Value | None:
    """Creates the element of a tensor, at the insertion point.

    Args:
        at: the index along each axis.
        leaf: called for tensors that are not the result of an elementwise operation.
        index: creates the value of an Index, of type `index`.

    Returns:
        The element; None if `leaf` returned None.
    """
    operation = producer(value)
    if is_elementwise(operation):
        return _of_elementwise(operation, at, leaf, index)
    if operation is not None and operation.name == "tensor.expand_shape":
        source = operation.operands[0]
        places = _before_expansion(operation, at)
        is_sliced = all(place.loop is not None or not place.loops for place in places)
        if is_sliced or is_elementwise(producer(source)):
            return element(source, places, leaf, index)
    return leaf(value, tuple(at))


def is_elementwise(operation: ir.Operation | None) -> bool:
    """Returns whether an operation computes each element of its one result independently.

    Args:
        operation: the producer of a value; None for a block argument.
    """
    if operation is None or operation.name != "linalg.generic" or len(operation.results) != 1:
        return False
    if any("parallel" not in str(kind) for kind in operation.attributes["iterator_types"]):
        return False
    block = operation.regions[0].blocks[0]
    *inputs, result = indexing_maps(operation)
    is_result_in_order = [str(each) for each in result.results] == [
        f"d{axis}" for axis in range(result.n_dims)
    ]
    return (
        is_result_in_order
        and len(inputs) == len(block.arguments) - 1
        and not list(block.arguments[len(inputs)].uses)
        and all(_is_place(each) for indexing in inputs for each in indexing.results)
        and all(
            each.operation.name.startswith(("arith.", "math.", "linalg.index", "linalg.yield"))
            for each in block.operations
        )
    )


def _is_place(expression: ir.AffineExpr) -> bool:
    return isinstance(expression, ir.AffineDimExpr | ir.AffineConstantExpr)


def _of_elementwise(
    owner: ir.Operation, at: Sequence[Index], leaf: Leaf, index: Callable[[Index], ir.Value]
) -> ir.Value | None:
    block = owner.regions[0].blocks[0]
    known: dict[ir.Value, ir.Value] = {}
    *maps, _ = indexing_maps(owner)
    for operand, indexing, argument in zip(owner.operands, maps, block.arguments, strict=False):
        places = [
            at[each.position] if isinstance(each, ir.AffineDimExpr) else Index((), each.value)
            for each in indexing.results
        ]
        found = element(operand, places, leaf, index)
        if found is None:
            return None
        known[argument] = found
    *operations, terminator = (each.operation for each in block.operations)
    for operation in operations:
        if operation.name == "linalg.index":
            known[operation.result] = index(at[ir.IntegerAttr(operation.attributes["dim"]).value])
            continue
        copy = operation.clone().operation
        for position, operand in enumerate(operation.operands):
            copy.operands[position] = known.get(operand, operand)
        known[operation.result] = copy.result
    (result,) = terminator.operands
    return known.get(result, result)


def _before_expansion(owner: ir.Operation, at: Sequence[Index]) -> list[Index]:
    """Returns the places in the operand of a `tensor.expand_shape` with static inner sizes."""
    sizes = ir.RankedTensorType(owner.result.type).shape
    places = []
    for group in owner.attributes["reassociation"]:
        place = Index()
        axes = [ir.IntegerAttr(axis).value for axis in group]
        stride = 1
        for axis in reversed(axes):
            # An axis of size 1 has one place only.
            place = place if sizes[axis] == 1 else place.plus(at[axis], stride)
            stride *= sizes[axis]
        places.append(place)
    return places
