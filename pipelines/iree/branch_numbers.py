"""Passes all numbers of loops and branches as 64 bits, because IREE overwrites some narrower ones.

IREE's VM stores a number in a register of 32 bits, or in two of them. A branch copies the numbers
that it passes, one after the other. IREE chooses an order in which each register is read before it
is overwritten. It does not notice that a number of 64 bits and one of 32 bits share a register. A
loop may then see a false condition and end, without an error. Sizes and offsets of tensors have 64
bits, so almost every loop passes such numbers.
"""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func
from pipelines.ir.values import terminator

# The first operand that an operation passes to a block, bounds of loops included. The others are
# conditions.
_FIRST = {
    "cf.br": 0,
    "cf.cond_br": 1,
    "cf.switch": 1,
    "scf.condition": 1,
    "scf.for": 0,
    "scf.while": 0,
    "scf.yield": 0,
}


def widen_numbers(function: func.FuncOp, control_flow: Collection[ir.Operation]) -> None:
    """Widens the numbers that branches of a function pass, in place.

    Args:
        control_flow: operations of `scf` in the function, whose numbers are widened, too.
    """
    entry, *others = function.regions[0].blocks
    inner = [block for each in control_flow for region in each.regions for block in region.blocks]
    for block in (entry, *others, *inner):
        _widen_operands(terminator(block))
    for block in (*others, *inner):
        for argument in block.arguments:
            _widen(argument, ir.InsertionPoint.at_block_begin(block))
    for operation in control_flow:
        _widen_operands(operation)
        for result in operation.results:
            _widen(result, ir.InsertionPoint.after(operation))


def _widen_operands(operation: ir.Operation) -> None:
    """Widens the numbers that an operation passes; none if it passes nothing."""
    count = len(operation.operands)
    for index in range(_FIRST.get(operation.name, count), count):
        value = operation.operands[index]
        if _is_narrow(value.type):
            with ir.InsertionPoint(operation), operation.location:
                operation.operands[index] = _widened(value)


def _widen(value: ir.Value, point: ir.InsertionPoint) -> None:
    """Changes the type of an argument or a result. Its users get the number in the old type."""
    kind = value.type
    if not _is_narrow(kind):
        return
    value.set_type(ir.IntegerType.get_signless(64))
    with point, value.location:
        bits = arith.trunci(_bits(kind), value)
        number = bits if bits.type == kind else arith.bitcast(kind, bits)
    value.replace_all_uses_except(number, bits.owner.operation)


def _widened(number: ir.Value) -> ir.Value:
    kind = _bits(number.type)
    bits = number if number.type == kind else arith.bitcast(kind, number)
    return arith.extsi(ir.IntegerType.get_signless(64), bits)


def _is_narrow(kind: ir.Type) -> bool:
    return isinstance(kind, (ir.IntegerType, ir.FloatType)) and kind.width < 64


def _bits(kind: ir.Type) -> ir.IntegerType:
    """Returns the type of integers with as many bits."""
    return ir.IntegerType.get_signless(kind.width)
