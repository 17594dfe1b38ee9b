"""Removes broadcasts of dynamic sizes after TOSA was lowered to linalg.

For each dynamic size of two operands, MLIR's lowering takes the larger one, and copies an operand
whose size is 1 in a branch. IREE stops programs with such branches. In captured programs no dynamic
size is broadcast, so the sizes are equal, and both branches compute the same.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named
from pipelines.output_dialects.strict_sizes import NOTED, note_strict_sizes

_COPIES = ("tensor.empty", "linalg.generic", "scf.yield")


def note_dynamic_sizes(module: ir.Module) -> None:
    """Marks functions with dynamic sizes, none of which is broadcast, in a module at `torch`."""
    note_strict_sizes(module)
    with module.context:
        for function in module.body.operations:
            if NOTED in function.attributes and not find_operations(function, _is_dynamic):
                del function.attributes[NOTED]


def _is_dynamic(operation: ir.Operation) -> bool:
    kinds = [result.type for result in operation.results]
    if operation.name == "func.func":
        kinds.append(operation.attributes["function_type"])
    return any("?" in str(kind) for kind in kinds)


def remove_dynamic_broadcasts(module: ir.Module) -> None:
    """Replaces the larger of equal sizes, and branches that copy, in marked functions.

    Removes the marks.
    """
    with module.context:
        for function in module.body.operations:
            if NOTED not in function.attributes:
                continue
            del function.attributes[NOTED]
            for branch in find_operations(function.operation, _is_broadcast):
                branch.result.replace_all_uses_with(_otherwise(branch))
                branch.erase()
            for larger in find_operations(function.operation, _is_larger_size):
                larger.result.replace_all_uses_with(larger.operands[0])
                larger.erase()


def _is_larger_size(operation: ir.Operation) -> bool:
    return operation.name == "arith.maxui" and isinstance(operation.result.type, ir.IndexType)


def _is_broadcast(operation: ir.Operation) -> bool:
    """Returns whether an operation branches on a size, either to copy a tensor or to return it."""
    if operation.name != "scf.if" or len(operation.results) != 1:
        return False
    comparison = producer_named(operation.operands[0], "arith.cmpi")
    if comparison is None or not isinstance(comparison.operands[0].type, ir.IndexType):
        return False
    copies, unchanged = (region.blocks[0].operations for region in operation.regions)
    generics = [each.operation for each in copies if each.operation.name == "linalg.generic"]
    return (
        len(unchanged) == 1
        and all(each.operation.name in _COPIES for each in copies)
        and len(generics) == 1
        and generics[0].operands[0] == _otherwise(operation)
        and len(generics[0].regions[0].blocks[0].operations) == 1
    )


def _otherwise(branch: ir.Operation) -> ir.Value:
    return branch.regions[1].blocks[0].operations[0].operands[0]
