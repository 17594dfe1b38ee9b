"""Passes all numbers of loops and branches as 64 bits, because IREE overwrites some narrower ones.

IREE's VM keeps numbers in registers of 32 bits, and numbers of 64 bits in two of them. A branch
copies the numbers that it passes one by one. IREE sorts these copies so that no register is
overwritten before it is read, but it takes a number of 64 bits and one of 32 bits in the same
register for different registers. A loop may then see a false condition and end, without an error.
Sizes and offsets of tensors have 64 bits, so almost every loop passes such numbers.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func

# Operations whose first operand is a condition, which no branch passes.
_CONDITIONAL = ("scf.if", "scf.condition", "cf.cond_br", "cf.switch")
_BRANCHES = ("cf.br", "cf.cond_br", "cf.switch")


def widen_numbers(function: func.FuncOp, operations: Iterable[ir.Operation]) -> None:
    """Widens the numbers that the branches of a function and these operations of `scf` pass.

    Changes the IR in place.
    """
    for operation in operations:
        _widen_operands(operation)
        for region in operation.regions:
            for block in region.blocks:
                _widen_arguments(block)
                _widen_operands(_terminator(block))
        for result in operation.results:
            _widen(result, ir.InsertionPoint.after(operation))
    entry, *others = function.regions[0].blocks
    for block in others:
        _widen_arguments(block)
    for block in (entry, *others):
        if _terminator(block).name in _BRANCHES:
            _widen_operands(_terminator(block))


def _terminator(block: ir.Block) -> ir.Operation:
    return block.operations[len(block.operations) - 1].operation


def _widen_arguments(block: ir.Block) -> None:
    for argument in block.arguments:
        _widen(argument, ir.InsertionPoint.at_block_begin(block))


def _widen_operands(operation: ir.Operation) -> None:
    first = 1 if operation.name in _CONDITIONAL else 0
    for index in range(first, len(operation.operands)):
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
    # Loops compare their bounds as signed numbers.
    return arith.extsi(ir.IntegerType.get_signless(64), bits)


def _is_narrow(kind: ir.Type) -> bool:
    return isinstance(kind, (ir.IntegerType, ir.FloatType)) and kind.width < 64


def _bits(kind: ir.Type) -> ir.IntegerType:
    """Returns the type of integers with as many bits."""
    return ir.IntegerType.get_signless(kind.width)
