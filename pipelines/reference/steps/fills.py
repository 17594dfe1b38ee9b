"""Avoids copies of filled tensors, and the zeros to which products and convolutions add.

Vector code of a product starts at zero instead. Nothing writes the zeros and reads them again.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named
from pipelines.reference.schedules.kernel import STARTS_AT_ZERO


def repeat_fills(module: ir.Module) -> None:
    """Gives each operation that writes to a filled tensor its own fill.

    The bufferization would copy the only one, which also reads memory.
    """
    with module.context:
        for fill in find_operations(module, _fills):
            uses = [use for use in fill.result.uses if _is_written(use)]
            for use in uses[1:]:
                with ir.InsertionPoint(use.owner):
                    empty = fill.operands[0].owner.clone().operation
                    copy = fill.clone().operation
                copy.operands[0] = empty.result
                use.owner.operands[use.operand_number] = copy.result


def start_at_zero(module: ir.Module) -> None:
    """Marks contractions that add to zeros, and removes the zeros."""
    with module.context:
        for contraction in find_operations(module, _may_start_at_zero):
            fill = producer_named(contraction.operands[2], "linalg.generic")
            if fill is None or not (_fills(fill) and _is_zero(fill)):
                continue
            with ir.InsertionPoint(contraction):
                empty = fill.operands[0].owner.clone().operation
            contraction.operands[2] = empty.result
            contraction.attributes[STARTS_AT_ZERO] = ir.UnitAttr.get()
            if not list(fill.result.uses):
                fill.erase()


def restore_zeros(module: ir.Module) -> None:
    """Inserts the zeros again before marked contractions that are not vector code by now."""
    with module.context:
        for contraction in find_operations(module, lambda each: STARTS_AT_ZERO in each.attributes):
            del contraction.attributes[STARTS_AT_ZERO]
            result = contraction.operands[2]
            zero = "0" if isinstance(result.type.element_type, ir.IntegerType) else "0.0"
            # The dialect's Python module takes longer to import than a small program to compile.
            parsed = ir.Module.parse(
                f"func.func @fill(%result: {result.type}) {{ %zero = arith.constant {zero} : "
                f"{result.type.element_type} linalg.fill ins(%zero : {result.type.element_type}) "
                f"outs(%result : {result.type}) return }}"
            )
            constant, fill, _ = parsed.body.operations[0].regions[0].blocks[0].operations
            with ir.InsertionPoint(contraction):
                number = constant.operation.clone().operation.result
                copy = fill.operation.clone().operation
            copy.operands[0], copy.operands[1] = number, result


def _fills(operation: ir.Operation) -> bool:
    """Returns whether this fills a new tensor with a number."""
    return (
        operation.name == "linalg.generic"
        and len(operation.operands) == 1
        and producer_named(operation.operands[0], "tensor.empty") is not None
        and len(operation.regions[0].blocks[0].operations) == 1
    )


def _is_written(use: ir.OpOperand) -> bool:
    owner = use.owner.operation
    if owner.name != "linalg.generic":
        return False
    return use.operand_number >= owner.attributes["operandSegmentSizes"][0]


def _may_start_at_zero(operation: ir.Operation) -> bool:
    """Returns whether this is a contraction of at least one step, which writes its result."""
    if operation.name != "linalg.generic" or len(operation.operands) != 3:
        return False
    found = find_contraction(operation)
    return found is not None and all(found.sizes[dimension] for dimension in found.depth)


def _is_zero(fill: ir.Operation) -> bool:
    (number,) = fill.regions[0].blocks[0].operations[0].operands
    constant = producer_named(number, "arith.constant")
    # Not -0.0: vector code starts at 0.0, and a sum of zeros would have another sign.
    return constant is not None and str(constant.attributes["value"]).startswith(("0 ", "0.0"))
