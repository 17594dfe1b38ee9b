"""Lowers `torch.prim.Loop` to `tosa.while_loop` or `stablehlo.while`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_operations import (
    element_of,
    from_builtin,
    integer_constant,
    sizes_of,
)
from pipelines.ir.values import producer_named, terminator
from pipelines.output_dialects.regions import (
    Dialect,
    captured_tensors,
    end_region,
    erase_unused,
    replace_inside,
    tensor_of,
)

LOOP = "torch.prim.Loop"
SUMS = ("torch.aten.add.Scalar", "torch.aten.add.Tensor")


@dataclass(frozen=True)
class CountedLoop:
    """A `torch.prim.Loop` that only its trip count ends, with a state that counts iterations.

    Attributes:
        loop: the operation.
        position: the position of the counter in the loop's state.
        start: the first value of the counter, which increases by one.
    """

    loop: ir.Operation
    position: int
    start: int

    @classmethod
    def find(cls, loop: ir.Operation) -> CountedLoop | None:
        """Returns the description of a loop, or None if it is not such a loop."""
        body = loop.regions[0].blocks[0]
        end = terminator(body)
        if constant(loop.operands[1]) != 1 or constant(end.operands[0]) != 1:
            return None
        starts, ends = list(loop.operands)[2:], list(end.operands)[1:]
        states = zip(starts, list(body.arguments)[1:], ends, strict=True)
        for position, (start, counter, after) in enumerate(states):
            first = constant(start)
            if first is not None and _counts(after, counter):
                return cls(loop, position, first)
        return None

    @property
    def body(self) -> ir.Block:
        """The block of the loop. Its first argument is the number of the iteration."""
        return self.loop.regions[0].blocks[0]

    @property
    def counter(self) -> ir.Value:
        """The counter in the body, an si64 tensor without dimensions."""
        return self.body.arguments[self.position + 1]


def _counts(after: ir.Value, counter: ir.Value) -> bool:
    made = producer_named(after, *SUMS)
    if made is None or made.operands[0] != counter:
        return False
    return constant(made.operands[1]) == 1 and constant(made.operands[2]) == 1


def constant(value: ir.Value) -> int | None:
    """Returns a constant integer or boolean, or the value of a literal with one integer."""
    scalar = producer_named(value, "torch.constant.int", "torch.constant.bool")
    if scalar is not None:
        return int(scalar.attributes["value"].value)
    literal = producer_named(value, "torch.vtensor.literal")
    if literal is None or sizes_of(value.type) != [] or element_of(value.type) != "si64":
        return None
    return int(ir.DenseElementsAttr(literal.attributes["value"]).get_splat_value().value)


def lower_loop(loop: ir.Operation, dialect: Dialect) -> None:
    """Replaces a loop, unless its form is one that the importer does not create.

    The caller sets the insertion point to the loop.
    """
    _Loop(loop, dialect).lower()


class _Loop:
    """A loop whose condition is a tensor: a comparison of its counter, or a flag of its state."""

    def __init__(self, loop: ir.Operation, dialect: Dialect):
        self._loop = loop
        self._dialect = dialect
        self._body = loop.regions[0].blocks[0]
        self._end = terminator(self._body)

    def lower(self) -> None:
        """Replaces the loop."""
        if self._reads_its_number():
            return
        states = list(self._loop.operands)[2:]
        counted = CountedLoop.find(self._loop)
        if counted is not None:
            self._replace(states, None, self._comparison(counted))
            return
        first, flag = (tensor_of(each) for each in (self._loop.operands[1], self._end.operands[0]))
        if first is not None and flag is not None:
            flags = (self._loop.operands[1], self._end.operands[0])
            self._replace([*states, first], flag, lambda arguments: arguments[len(states)])
            for each in flags:
                erase_unused(each)

    def _reads_its_number(self) -> bool:
        return bool(list(self._body.arguments[0].uses))

    def _comparison(self, counted: CountedLoop) -> Callable[[Sequence[ir.Value]], ir.Value]:
        """Returns a function that creates the condition of a counted loop."""
        trips = constant(self._loop.operands[0])

        def compare(arguments: Sequence[ir.Value]) -> ir.Value:
            counter = arguments[counted.position]
            end = (
                self._loop.operands[0] if trips is None else integer_constant(counted.start + trips)
            )
            return build_op("torch.aten.lt.Scalar", "!torch.vtensor<[],i1>", counter, end)

        return compare

    def _replace(
        self,
        states: list[ir.Value],
        flag: ir.Value | None,
        condition: Callable[[Sequence[ir.Value]], ir.Value],
    ) -> None:
        """Creates the new loop.

        Args:
            states: the initial states.
            flag: in the body, the value of a last state that the old loop does not have.
            condition: creates the condition from the states.
        """
        captured = captured_tensors(self._loop) if self._dialect.is_isolated else []
        operands = [*states, *captured]
        kinds = [value.type for value in operands]
        builtin = list(map(self._dialect.builtin_type, kinds))
        new = ir.Operation.create(
            self._dialect.loop,
            builtin,
            list(map(self._dialect.to_builtin, operands)),
            regions=2,
        )
        here = [self._loop.location] * len(kinds)
        block = ir.Block.create_at_start(new.regions[0], builtin, here)
        with ir.InsertionPoint(block):
            arguments = list(map(from_builtin, block.arguments, kinds))
            end_region(self._dialect, [condition(arguments)])
        block = ir.Block.create_at_start(new.regions[1], builtin, here)
        with ir.InsertionPoint(block):
            inside = list(map(from_builtin, block.arguments, kinds))
            for old, value in zip(self._body.arguments[1:], inside, strict=False):
                old.replace_all_uses_with(value)
            for old, value in zip(captured, inside[len(states) :], strict=True):
                replace_inside(self._body, old, value)
            after = list(self._end.operands)[1:]
            self._end.erase()
            for each in list(self._body.operations):
                block.append(each)
            flags = [] if flag is None else [flag]
            end_region(self._dialect, [*after, *flags, *inside[len(states) :]])
        for old, value in zip(self._loop.results, new.results, strict=False):
            old.replace_all_uses_with(from_builtin(value, old.type))
        self._loop.erase()
