"""Orders the loops of products of integers, so that LLVM vectorizes them.

Sums of integers may be computed in any order. The loop over neighboring results becomes the
innermost one, if the operands lie in memory in the same order.
"""

from __future__ import annotations

import re

from torch_mlir import ir

from pipelines.ir.contraction import indexing_maps
from pipelines.ir.modules import find_operations
from pipelines.pipeline import Step


def order_integer_loops(module: ir.Module) -> None:
    """Reorders the loops of each `linalg.generic` that adds up products of integers, in place."""
    with module.context:
        for generic in find_operations(module, lambda each: each.name == "linalg.generic"):
            innermost = _innermost(generic)
            if innermost is not None:
                _move_inside(generic, innermost)


def _innermost(generic: ir.Operation) -> int | None:
    """Returns the loop that becomes the innermost one; None if the loops stay as they are."""
    kinds = [str(kind) for kind in ir.ArrayAttr(generic.attributes["iterator_types"])]
    *operands, result = indexing_maps(generic)
    # Operations on tensors without dimensions have no loops, and total sums have one result.
    if not kinds or "reduction" not in kinds[-1] or not result.results:
        return None
    found = re.fullmatch(r"d(\d+)", str(result.results[-1]))
    if len(generic.results) != 1 or found is None or not _multiplies(generic):
        return None
    loop = int(found[1])
    # An operand's last dimension lies contiguously in memory.
    uses = [
        (axis == len(operand.results) - 1, loop in _loops_of(expression))
        for operand in operands
        for axis, expression in enumerate(operand.results)
    ]
    is_contiguous = any(is_last and has_loop for is_last, has_loop in uses)
    is_strided = any(has_loop and not is_last for is_last, has_loop in uses)
    return loop if is_contiguous and not is_strided else None


def _multiplies(generic: ir.Operation) -> bool:
    """Returns whether integers are multiplied, and the products added to the result."""
    names = [each.operation.name for each in generic.regions[0].blocks[0].operations]
    kind = ir.RankedTensorType(generic.results[0].type).element_type
    return (
        isinstance(kind, ir.IntegerType)
        and names[-2:] == ["arith.addi", "linalg.yield"]
        and "arith.muli" in names
    )


def _loops_of(expression: ir.AffineExpr) -> list[int]:
    return [int(number) for number in re.findall(r"\bd(\d+)", str(expression))]


def _move_inside(generic: ir.Operation, loop: int) -> None:
    kinds = list(ir.ArrayAttr(generic.attributes["iterator_types"]))
    order = [each for each in range(len(kinds)) if each != loop] + [loop]
    # Maps the new loops to the old ones.
    loops = ir.AffineMap.get(
        len(order), 0, [ir.AffineDimExpr.get(order.index(old)) for old in range(len(order))]
    )
    maps = [
        ir.AffineMap.get(len(order), 0, [each.compose(loops) for each in old.results])
        for old in indexing_maps(generic)
    ]
    generic.attributes["indexing_maps"] = ir.ArrayAttr.get(
        [ir.AffineMapAttr.get(each) for each in maps]
    )
    generic.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[each] for each in order])


INTEGER_LOOPS = Step(
    "reference-integer-loops",
    "compute neighboring sums of integers in the innermost loop, many with one instruction",
    order_integer_loops,
)
