"""Lets matrix products read operands in bf16 that a program widens to f32 first.

PyTorch decomposes a linear layer of bf16 to a product of f32. On processors that multiply bf16, the
product of the narrow numbers is faster. It has the same terms.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.contraction import find_contraction
from pipelines.ir.lazy_dialects import arith
from pipelines.ir.modules import find_operations
from pipelines.ir.values import producer_named
from pipelines.reference.schedules.bf16_contraction import FEWEST_ROWS
from pipelines.reference.steps.fusion import widens

_NAMED = ("linalg.matmul", "linalg.batch_matmul")


def keep_products_narrow(module: ir.Module) -> None:
    """Moves the widening of both operands into the products, in place."""
    with module.context:
        for product in find_operations(module, _has_many_rows):
            narrow = [_narrow(operand) for operand in list(product.operands)[:2]]
            if all(operand is not None for operand in narrow):
                with product.location:
                    for position, operand in enumerate(narrow):
                        _read_narrow(product, position, operand)


def _has_many_rows(operation: ir.Operation) -> bool:
    """Returns whether an operation is a product for which the schedule of bf16 exists."""
    if operation.name == "linalg.generic":
        found = find_contraction(operation)
        return found is not None and found.extent(found.rows) >= FEWEST_ROWS
    if operation.name not in _NAMED:
        return False
    left, right = (ir.RankedTensorType(each.type) for each in list(operation.operands)[:2])
    rows = left.rank - 2
    has_rows = left.is_dynamic_dim(rows) or left.get_dim_size(rows) >= FEWEST_ROWS
    return has_rows and not any(right.is_dynamic_dim(right.rank - axis) for axis in (1, 2))


def _narrow(operand: ir.Value) -> ir.Value | None:
    """Returns the tensor of bf16 that an elementwise operation widens, or None."""
    source = producer_named(operand, "linalg.generic")
    if source is None or not widens(source):
        return None
    read, written = source.attributes["indexing_maps"]
    narrow = ir.RankedTensorType(source.operands[0].type).element_type
    return source.operands[0] if read == written and isinstance(narrow, ir.BF16Type) else None


def _read_narrow(product: ir.Operation, position: int, operand: ir.Value) -> None:
    """Replaces an operand by the narrow one, and widens its elements in the body."""
    product.operands[position] = operand
    element = product.regions[0].blocks[0].arguments[position]
    wide = element.type
    element.set_type(ir.RankedTensorType(operand.type).element_type)
    with ir.InsertionPoint.at_block_begin(element.owner):
        widening = arith.ExtFOp(wide, element)
    element.replace_all_uses_except(widening.result, [widening.operation])
