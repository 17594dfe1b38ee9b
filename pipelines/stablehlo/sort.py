"""Lowers `stablehlo.sort` to `tm_tensor.sort`, which has a lowering to loops."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.lazy_dialects import arith, tensor
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.stablehlo.bodies import mapped
from unmess.core.ir.dialects import load_unregistered


def sorts_to_tm_tensor(module: ir.Module) -> None:
    """Lowers the sorts of a module in place. Each becomes stable."""
    with module.context:
        sorts = find_operations(module, lambda each: each.name == "stablehlo.sort")
        if sorts:
            load_unregistered(module.context)
        replace_operations(sorts, _sorted)


def _sorted(sort: ir.Operation) -> list[ir.Value]:
    """Lowers a sort. The body of `tm_tensor.sort` returns whether two neighbors are in order."""
    number = ir.IntegerType.get_signless(64)
    axis = ir.IntegerAttr(sort.attributes["dimension"]).value
    new = ir.Operation.create(
        "tm_tensor.sort",
        [result.type for result in sort.results],
        list(sort.operands),
        {
            "dimension": ir.IntegerAttr.get(number, axis),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, len(sort.operands)]),
        },
        regions=1,
    )
    elements = [ir.RankedTensorType(each.type).element_type for each in sort.operands]
    block = new.regions[0].blocks.append(*(each for each in elements for _ in range(2)))
    with ir.InsertionPoint(block):
        scalars = [
            build_op("tensor.from_elements", ir.RankedTensorType.get([], each.type), each)
            for each in block.arguments
        ]
        # The arguments are pairs of elements, one for each operand. Swap each pair.
        swapped = [each for pair in zip(scalars[1::2], scalars[::2], strict=True) for each in pair]
        comparisons = (mapped(sort, operands)[0] for operands in (scalars, swapped))
        is_less, is_more = (tensor.ExtractOp(each, []).result for each in comparisons)
        truth = arith.ConstantOp(is_less.type, ir.BoolAttr.get(True)).result
        is_not_more = arith.XOrIOp(is_more, truth).result
        # Use both: a comparison that treats NaN as the largest may return true for two NaN in
        # either order. They must stay.
        stays = arith.OrIOp(is_less, is_not_more).result
        ir.Operation.create("tm_tensor.yield", operands=[stays])
    return list(new.results)
