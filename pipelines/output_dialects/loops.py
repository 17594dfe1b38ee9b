"""Lowers `torch.prim.Loop` to `tosa.while_loop` or `stablehlo.while`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.modules import build_op
from pipelines.ir.torch_operations import from_builtin, integer_constant
from pipelines.output_dialects.counted_loops import CountedLoop, constant
from pipelines.output_dialects.regions import (
    Dialect,
    captured_tensors,
    end_region,
    erase_unused,
    replace_inside,
    tensor_of,
)


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
        *_, self._end = [each.operation for each in self._body.operations]

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
