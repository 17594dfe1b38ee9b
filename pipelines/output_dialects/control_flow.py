"""Lowers loops and branches to TOSA and StableHLO, which torch-mlir does not do.

This happens before all other operators are lowered. Loops and branches then take, yield and return
builtin tensors, and torch-mlir lowers the operators in between.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.torch_operations import from_builtin, is_tensor, load_dialects
from pipelines.ir.values import terminator
from pipelines.output_dialects.loops import LOOP, lower_loop
from pipelines.output_dialects.regions import (
    STABLEHLO,
    TOSA,
    Dialect,
    captured_tensors,
    end_region,
    erase_unused,
    replace_inside,
    tensor_of,
)

BRANCH = "torch.prim.If"


def lower_branch(branch: ir.Operation, dialect: Dialect) -> None:
    """Replaces a branch whose condition is a tensor and whose results are tensors.

    The caller sets the insertion point to the branch.
    """
    condition = tensor_of(branch.operands[0])
    if condition is None or not all(map(is_tensor, branch.results)):
        return
    captured = captured_tensors(branch) if dialect.is_isolated else []
    kinds = [value.type for value in captured]
    builtin = list(map(dialect.builtin_type, kinds))
    new = ir.Operation.create(
        dialect.branch,
        [dialect.builtin_type(result.type) for result in branch.results],
        list(map(dialect.to_builtin, [condition, *captured])),
        regions=2,
    )
    for old_region, region in zip(branch.regions, new.regions, strict=True):
        old_block = old_region.blocks[0]
        block = ir.Block.create_at_start(region, builtin, [branch.location] * len(kinds))
        with ir.InsertionPoint(block):
            inside = list(map(from_builtin, block.arguments, kinds))
            for old, value in zip(captured, inside, strict=True):
                replace_inside(old_block, old, value)
            end = terminator(old_block)
            results = list(end.operands)
            end.erase()
            for each in list(old_block.operations):
                block.append(each)
            end_region(dialect, results)
    for old, value in zip(branch.results, new.results, strict=True):
        old.replace_all_uses_with(from_builtin(value, old.type))
    flag = branch.operands[0]
    branch.erase()
    erase_unused(flag)


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
