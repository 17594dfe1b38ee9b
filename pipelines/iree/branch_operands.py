"""Finds the operations that pass values to a block with several predecessors, or to a loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torch_mlir import ir

from pipelines.ir.lazy_dialects import func

# The first operand that an operation passes on. The others are conditions and bounds.
_FIRST = {
    "cf.br": 0,
    "cf.cond_br": 1,
    "cf.switch": 1,
    "scf.condition": 1,
    "scf.for": 3,
    "scf.while": 0,
    "scf.yield": 0,
}


def branches(
    function: func.FuncOp, control_flow: Iterable[ir.Operation]
) -> Iterator[tuple[ir.Operation, int]]:
    """Yields each such operation of a function, and the index of the first operand that it passes.

    Args:
        control_flow: the operations of `scf` whose branches are wanted. Those of `cf` always are.
    """
    for operation in control_flow:
        if operation.name in _FIRST:
            yield operation, _FIRST[operation.name]
        for region in operation.regions:
            yield from _terminators(region)
    yield from _terminators(function.regions[0])


def _terminators(region: ir.Region) -> Iterator[tuple[ir.Operation, int]]:
    for block in region.blocks:
        last = block.operations[len(block.operations) - 1].operation
        if last.name in _FIRST:
            yield last, _FIRST[last.name]
