"""Loops and branches of TOSA and StableHLO: their names, and the values that their regions read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines.ir.torch_operations import builtin_type, is_tensor, to_builtin
from pipelines.ir.values import block_of, producer, producer_named

_CONSTANTS = ("torch.constant.", "torch.vtensor.literal")


@dataclass(frozen=True)
class Dialect:
    """The control flow of an output dialect.

    Attributes:
        loop: the operation, with a region for the condition and one for the body.
        branch: the operation, with a region for each branch.
        end: the terminator of the regions.
        conversion: the pass that lowers the operators to the dialect.
        is_isolated: whether the regions may only read their arguments and constants.
        has_unsigned: whether tensors may have unsigned integers.
    """

    loop: str
    branch: str
    end: str
    conversion: str
    is_isolated: bool
    has_unsigned: bool

    def builtin_type(self, kind: ir.Type) -> ir.Type:
        """Returns the type that a `!torch.vtensor` has in the dialect."""
        return ir.Type.parse(builtin_type(kind, self.has_unsigned))

    def to_builtin(self, value: ir.Value) -> ir.Value:
        """Creates the conversion of a `!torch.vtensor` to a tensor of the dialect."""
        return to_builtin(value, self.has_unsigned)


TOSA = Dialect(
    "tosa.while_loop",
    "tosa.cond_if",
    "tosa.yield",
    "convert-torch-to-tosa",
    is_isolated=True,
    has_unsigned=False,
)
STABLEHLO = Dialect(
    "stablehlo.while",
    "stablehlo.if",
    "stablehlo.return",
    "convert-torch-to-stablehlo",
    is_isolated=False,
    has_unsigned=True,
)


def captured_tensors(operation: ir.Operation) -> list[ir.Value]:
    """Returns the tensors from outside that the regions read. Copies constants into the regions."""
    tensors: list[ir.Value] = []
    for use, value in _uses_from_outside(operation):
        source = producer(value)
        if source is not None and source.name.startswith(_CONSTANTS):
            block = _outermost_block(use.owner.operation, operation)
            copy = source.clone(ip=ir.InsertionPoint.at_block_begin(block))
            use.owner.operands[use.operand_number] = copy.operation.result
        elif is_tensor(value) and value not in tensors:
            tensors.append(value)
    return tensors


def replace_inside(block: ir.Block, old: ir.Value, new: ir.Value) -> None:
    """Replaces the uses of a value by operations in a block, and in their regions."""
    for use in list(old.uses):
        if _is_inside(use.owner.operation, [block]):
            use.owner.operands[use.operand_number] = new


def end_region(dialect: Dialect, values: Iterable[ir.Value]) -> None:
    """Creates the terminator of a region at the current insertion point, with builtin tensors."""
    ir.Operation.create(dialect.end, [], list(map(dialect.to_builtin, values)))


def tensor_of(flag: ir.Value) -> ir.Value | None:
    """Returns the tensor that a boolean was read from; None for other booleans."""
    read = producer_named(flag, "torch.aten.Bool.Tensor")
    return None if read is None else read.operands[0]


def erase_unused(flag: ir.Value) -> None:
    """Erases the operation that read a boolean from a tensor, if nothing uses it anymore."""
    if tensor_of(flag) is not None and not list(flag.uses):
        flag.owner.operation.erase()


def _uses_from_outside(operation: ir.Operation) -> list[tuple[ir.OpOperand, ir.Value]]:
    """Returns the operands in the regions whose values come from outside, with these values."""
    outermost = [block for region in operation.regions for block in region]
    own = list(outermost)
    found: dict[ir.Value, None] = {}

    def visit(each: ir.Operation) -> ir.WalkResult:
        own.extend(block for region in each.regions for block in region)
        found.update(dict.fromkeys(each.operands))
        return ir.WalkResult.ADVANCE

    for block in outermost:
        for each in block.operations:
            each.operation.walk(visit)
    return [
        (use, value)
        for value in found
        if block_of(value) not in own
        for use in list(value.uses)
        if _is_inside(use.owner.operation, outermost)
    ]


def _is_inside(operation: ir.Operation, blocks: list[ir.Block]) -> bool:
    """Returns True for an operation in one of the blocks, or in a region of such an operation."""
    place: ir.Operation | None = operation
    while place is not None and place.parent is not None:
        if place.block in blocks:
            return True
        place = place.parent.operation
    return False


def _outermost_block(operation: ir.Operation, ancestor: ir.Operation) -> ir.Block:
    """Returns the block of `ancestor`'s regions that contains `operation`."""
    place = operation
    while place.parent.operation != ancestor:
        place = place.parent.operation
    return place.block
