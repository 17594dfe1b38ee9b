"""Lowers loops and branches to TOSA and StableHLO, which torch-mlir does not do.

This happens before all other operators are lowered. Their operands, results and regions then have
builtin tensors at their borders, and torch-mlir lowers the operators in between.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.torch_operations import load_dialects
from pipelines.output_dialects.branches import BRANCH, lower_branch
from pipelines.output_dialects.counted_loops import LOOP
from pipelines.output_dialects.loops import lower_loop
from pipelines.output_dialects.regions import STABLEHLO, TOSA, Dialect

_LOWERINGS = {LOOP: lower_loop, BRANCH: lower_branch}


def control_flow_to_tosa(module: ir.Module) -> None:
    """Lowers the control flow of a module at `torch` in place, inner operations first."""
    _lower(module, TOSA)


def control_flow_to_stablehlo(module: ir.Module) -> None:
    """Lowers the control flow of a module at `torch` in place, inner operations first."""
    _lower(module, STABLEHLO)


def _lower(module: ir.Module, dialect: Dialect) -> None:
    found = find_operations(module, lambda each: each.name in _LOWERINGS)
    if not found:
        return
    with module.context:
        load_dialects(module, dialect.conversion)
        for operation in found:
            with ir.InsertionPoint(operation), operation.location:
                _LOWERINGS[operation.name](operation, dialect)
