"""Finds the operations that define values, and those that end blocks."""

from __future__ import annotations

from torch_mlir import ir


def producer(value: ir.Value) -> ir.Operation | None:
    """Returns the operation that defines a value; None for a block argument."""
    # The owner of a block argument is the block.
    return None if isinstance(value.owner, ir.Block) else value.owner.operation


def producer_named(value: ir.Value, *names: str) -> ir.Operation | None:
    """Returns the operation that defines a value if it has one of these names, otherwise None."""
    operation = producer(value)
    return operation if operation is not None and operation.name in names else None


def constant_integer(value: ir.Value) -> int | None:
    """Returns the integer of an `arith.constant`; None for floats, booleans and other values."""
    constant = producer_named(value, "arith.constant")
    attribute = None if constant is None else constant.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else None


def block_of(value: ir.Value) -> ir.Block:
    """Returns the block that a value is an argument of, or that contains its producer."""
    operation = producer(value)
    return value.owner if operation is None else operation.block


def terminator(block: ir.Block) -> ir.Operation:
    """Returns the last operation of a block."""
    return block.operations[-1].operation
