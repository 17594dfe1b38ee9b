"""Lowers `torch.prim.Loop` to `tosa.while_loop` or `stablehlo.while`, which torch-mlir does not do.

The loop itself is lowered before all other operators. Its operands, results and regions then have
builtin tensors at their borders, and torch-mlir lowers the operators in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations
from pipelines.ir.torch_operations import (
    builtin_type,
    from_builtin,
    integer_constant,
    load_dialects,
    maker_of,
    to_builtin,
)
from pipelines.output_dialects.counted_loops import LOOP, CountedLoop, constant

_CONSTANTS = ("torch.constant.", "torch.vtensor.literal")


@dataclass(frozen=True)
class _Dialect:
    """An output dialect's loop.

    Attributes:
        loop: the operation, with a region for the condition and one for the body.
        end: the terminator of both regions.
        conversion: the pass that lowers the operators to the dialect.
        is_isolated: whether the regions may only read their arguments and constants.
    """

    loop: str
    end: str
    conversion: str
    is_isolated: bool


_TOSA = _Dialect("tosa.while_loop", "tosa.yield", "convert-torch-to-tosa", is_isolated=True)
_STABLEHLO = _Dialect(
    "stablehlo.while", "stablehlo.return", "convert-torch-to-stablehlo", is_isolated=False
)


def loops_to_tosa(module: ir.Module) -> None:
    """Lowers the loops of a module at `torch` in place, inner ones first."""
    _lower(module, _TOSA)


def loops_to_stablehlo(module: ir.Module) -> None:
    """Lowers the loops of a module at `torch` in place, inner ones first."""
    _lower(module, _STABLEHLO)


def _lower(module: ir.Module, dialect: _Dialect) -> None:
    loops = find_operations(module, lambda each: each.name == LOOP)
    if not loops:
        return
    with module.context:
        load_dialects(module, dialect.conversion)
        for loop in loops:
            with ir.InsertionPoint(loop), loop.location:
                _Loop(loop, dialect).lower()


class _Loop:
    """A loop whose condition is a tensor: a comparison of its counter, or a flag of its state."""

    def __init__(self, loop: ir.Operation, dialect: _Dialect):
        self._loop = loop
        self._dialect = dialect
        self._body = loop.regions[0].blocks[0]
        *_, self._end = [each.operation for each in self._body.operations]

    def lower(self) -> None:
        """Replaces the loop, unless its form is one that the importer does not create."""
        if self._reads_its_number():
            return
        states = list(self._loop.operands)[2:]
        counted = CountedLoop.find(self._loop)
        if counted is not None:
            self._replace(states, None, self._comparison(counted))
            return
        first, flag = (_tensor_of(each) for each in (self._loop.operands[1], self._end.operands[0]))
        if first is not None and flag is not None:
            self._replace([*states, first], flag, lambda arguments: arguments[len(states)])

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
        captured = self._captured() if self._dialect.is_isolated else []
        operands = [*states, *captured]
        kinds = [value.type for value in operands]
        builtin = [ir.Type.parse(builtin_type(kind)) for kind in kinds]
        new = ir.Operation.create(
            self._dialect.loop, builtin, list(map(to_builtin, operands)), regions=2
        )
        here = [self._loop.location] * len(kinds)
        block = ir.Block.create_at_start(new.regions[0], builtin, here)
        with ir.InsertionPoint(block):
            self._return([condition(list(map(from_builtin, block.arguments, kinds)))])
        block = ir.Block.create_at_start(new.regions[1], builtin, here)
        with ir.InsertionPoint(block):
            inside = list(map(from_builtin, block.arguments, kinds))
            for old, value in zip(self._body.arguments[1:], inside, strict=False):
                old.replace_all_uses_with(value)
            for old, value in zip(captured, inside[len(states) :], strict=True):
                self._replace_inside(old, value)
            after = list(self._end.operands)[1:]
            self._end.erase()
            for each in list(self._body.operations):
                block.append(each)
            flags = [] if flag is None else [flag]
            self._return([*after, *flags, *inside[len(states) :]])
        for old, value in zip(self._loop.results, new.results, strict=False):
            old.replace_all_uses_with(from_builtin(value, old.type))
        self._loop.erase()

    def _return(self, values: list[ir.Value]) -> None:
        ir.Operation.create(self._dialect.end, [], list(map(to_builtin, values)))

    def _captured(self) -> list[ir.Value]:
        """Returns the tensors from outside that the body reads. Copies constants into the body."""
        tensors: list[ir.Value] = []
        for use, value in self._uses_from_outside():
            owner = value.owner
            if not isinstance(owner, ir.Block) and owner.operation.name.startswith(_CONSTANTS):
                copy = owner.operation.clone(ip=ir.InsertionPoint.at_block_begin(self._body))
                use.owner.operands[use.operand_number] = copy.operation.result
            elif str(value.type).startswith("!torch.vtensor") and value not in tensors:
                tensors.append(value)
        return tensors

    def _uses_from_outside(self) -> list[tuple[ir.OpOperand, ir.Value]]:
        """Returns the operands in the body whose values come from outside the loop."""
        own: list[ir.Block] = []
        found: dict[ir.Value, None] = {}

        def visit(operation: ir.Operation) -> ir.WalkResult:
            own.extend(block for region in operation.regions for block in region)
            found.update(dict.fromkeys(operation.operands))
            return ir.WalkResult.ADVANCE

        for each in self._body.operations:
            each.operation.walk(visit)
        own.append(self._body)
        return [
            (use, value)
            for value in found
            if _block_of(value) not in own
            for use in list(value.uses)
            if self._is_inside(use.owner)
        ]

    def _is_inside(self, operation: ir.OpView) -> bool:
        parent = operation.operation
        while parent is not None:
            if parent == self._loop:
                return operation.operation != self._loop
            parent = parent.parent.operation if parent.parent is not None else None
        return False

    def _replace_inside(self, old: ir.Value, new: ir.Value) -> None:
        for use in list(old.uses):
            if self._is_inside(use.owner):
                use.owner.operands[use.operand_number] = new


def _block_of(value: ir.Value) -> ir.Block:
    return value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block


def _tensor_of(flag: ir.Value) -> ir.Value | None:
    """Returns the tensor that a boolean was read from."""
    read = maker_of(flag, "torch.aten.Bool.Tensor")
    return None if read is None else read.operands[0]
