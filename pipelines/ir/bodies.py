"""Bodies of linalg operations whose operands are found while the body is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.scalars import Index, element


class Leaf:
    """A tensor that a body reads.

    Attributes:
        at: the index along each axis.
        loops: the loop that each index equals; None for other indices.
    """

    def __init__(self, value: ir.Value, at: tuple[Index, ...]):
        self.value = value
        self.at = at
        self.kind = ir.RankedTensorType(value.type)
        self.loops = tuple(place.loop for place in at)


# Returns the tensor to read instead of a tensor, and the indices. If both are as given, the body
# reads the tensor itself. If the result is None, it must not read the tensor.
Resolve = Callable[[ir.Value, tuple[Index, ...]], tuple[ir.Value, tuple[Index, ...]] | None]


class Body:
    """The body of a linalg operation, whose operands are found while it is built."""

    def __init__(self, resolve: Resolve) -> None:
        """Creates an empty body at the insertion point.

        Args:
            resolve: called for each tensor that no elementwise operation computes.
        """
        self._resolve = resolve
        # A placeholder that holds the block until `move_to` moves it to an operation.
        self._holder = ir.Operation.create("unmess.holder", regions=1)
        self.block = self._holder.regions[0].blocks.append()
        self.leaves: list[Leaf] = []

    def element(self, computed: ir.Value, at: Sequence[Index]) -> ir.Value | None:
        """Adds the computation of an element; returns None if it reads another tensor."""
        with ir.InsertionPoint(self.block):
            return element(computed, at, self._leaf, place)

    def _leaf(self, value: ir.Value, at: tuple[Index, ...]) -> ir.Value | None:
        found = self._resolve(value, at)
        if found is None:
            return None
        if found != (value, at):
            return element(*found, self._leaf, place)
        for leaf, argument in zip(self.leaves, self.block.arguments, strict=True):
            if (leaf.value, leaf.at) == found:
                return argument
        self.leaves.append(Leaf(value, at))
        return self.argument(self.leaves[-1].kind.element_type)

    def argument(self, kind: ir.Type) -> ir.Value:
        """Adds an argument."""
        return self.block.add_argument(kind, ir.Location.unknown())

    def drop(self) -> None:
        """Erases the body."""
        self._holder.erase()

    def move_to(self, operation: ir.Operation) -> None:
        """Moves the body to an operation without one."""
        self.block.append_to(operation.regions[0])
        self._holder.erase()


def place(index: Index) -> ir.Value:
    """Creates the value of an index from the loops of the operation around the insertion point."""
    kind = ir.IndexType.get()
    total = _number(kind, index.number)
    for loop, factor in index.loops:
        dim = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), loop)
        at = build_op("linalg.index", kind, dim=dim)
        scaled = build_op("arith.muli", kind, at, _number(kind, factor))
        total = build_op("arith.addi", kind, total, scaled)
    return total


def _number(kind: ir.Type, number: int) -> ir.Value:
    return build_op("arith.constant", kind, value=ir.IntegerAttr.get(kind, number))
