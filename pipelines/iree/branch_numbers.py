"""Passes all numbers of loops and branches as 64 bits, because IREE overwrites some narrower ones.

IREE's VM keeps numbers in registers of 32 bits, and numbers of 64 bits in two of them. A branch
copies the numbers that it passes one by one. IREE sorts these copies so that no register is
overwritten before it is read, but it takes a number of 64 bits and one of 32 bits in the same
register for different registers. A loop may then see a false condition and end, without an error.
Sizes and offsets of tensors have 64 bits, so almost every loop passes such numbers.
"""

from __future__ import annotations

from collections.abc import Collection

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, func
from pipelines.iree.branch_operands import branches


def widen_numbers(function: func.FuncOp, control_flow: Collection[ir.Operation]) -> None:
    """Widens the numbers that branches of a function pass, and these operations of `scf`, in place."""
    for operation, first in list(branches(function, control_flow)):
        for index in range(first, len(operation.operands)):
            value = operation.operands[index]
            if _is_narrow(value.type):
                with ir.InsertionPoint(operation), operation.location:
                    operation.operands[index] = _widened(value)
    _, *blocks = function.regions[0].blocks
    for operation in control_flow:
        blocks += [block for region in operation.regions for block in region.blocks]
        for result in operation.results:
            _widen(result, ir.InsertionPoint.after(operation))
    for block in blocks:
        for argument in block.arguments:
            _widen(argument, ir.InsertionPoint.at_block_begin(block))


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
