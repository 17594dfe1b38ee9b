"""Sums products of integers in the type to which the sums are narrowed.

torch-mlir sums the products of a convolution of i32 in i64, and narrows the sums to i32. The lower
32 bits of a sum only depend on those of its terms, so sums in i32 are the same, and vectors hold
twice as many of them.
"""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.ir.tensor_ops import is_of_zeros, sizes_of, zeros
from pipelines.ir.values import producer

_BODY = ["arith.extsi", "arith.extsi", "arith.muli", "arith.addi", "linalg.yield"]


def narrow_sums(module: ir.Module) -> None:
    """Rewrites each named operation that sums products of integers, if only narrowed sums are read.

    The sums start at 0, and the operands have the type of the narrowed sums. Changes IR in place.
    """
    with module.context:
        for narrowing in find_operations(module, _is_narrowing):
            sums = producer(narrowing.operands[0])
            if sums is None or not _can_be_narrowed(sums, narrowing):
                continue
            with ir.InsertionPoint(sums), sums.location:
                narrowed = _narrowed(sums, narrowing.results[0].type)
            narrowing.results[0].replace_all_uses_with(narrowed)
            narrowing.erase()
            sums.erase()


def _is_narrowing(operation: ir.Operation) -> bool:
    """Returns whether a `linalg.generic` only narrows the integers of a tensor."""
    if operation.name != "linalg.generic" or len(operation.operands) != 2:
        return False
    maps = [each.value for each in ir.ArrayAttr(operation.attributes["indexing_maps"])]
    first, *others = operation.regions[0].blocks[0].operations
    return (
        all(each == ir.AffineMap.get_identity(each.n_dims) for each in maps)
        and first.operation.name == "arith.trunci"
        and [each.operation.name for each in others] == ["linalg.yield"]
    )


def _can_be_narrowed(sums: ir.Operation, narrowing: ir.Operation) -> bool:
    if not sums.name.startswith("linalg.") or sums.name == "linalg.generic":
        return False
    *factors, init = sums.operands
    element = ir.RankedTensorType(narrowing.results[0].type).element_type
    body = [each.operation.name for each in sums.regions[0].blocks[0].operations]
    return (
        body == _BODY
        and len(list(sums.results[0].uses)) == 1
        and all(ir.RankedTensorType(each.type).element_type == element for each in factors)
        and is_of_zeros(init)
    )


def _narrowed(sums: ir.Operation, kind: ir.Type) -> ir.Value:
    """Creates the operation with sums of the element type of `kind`."""
    *factors, init = sums.operands
    element = ir.RankedTensorType(kind).element_type
    own = ir.Operation.create(
        sums.name,
        [kind],
        [*factors, zeros(sizes_of(init), element)],
        dict(sums.attributes.items()),
        regions=1,
    )
    block = own.regions[0].blocks.append(element, element, element)
    with ir.InsertionPoint(block):
        left, right, total = block.arguments
        product = ir.Operation.create("arith.muli", [element], [left, right]).result
        added = ir.Operation.create("arith.addi", [element], [total, product]).result
        ir.Operation.create("linalg.yield", [], [added])
    return own.result
