"""Lowers `stablehlo.sort` to `tm_tensor.sort`, which has a lowering to loops.

For IREE, whose own sort is not stable, it makes sorts stable.
"""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pipelines.ir.generics import inline
from pipelines.ir.lazy_dialects import arith, tensor
from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.stablehlo.bodies import mapped
from pipelines.stablehlo.origin import foreign_operations
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


_SORT = "stablehlo.sort"


def make_sorts_stable(module: ir.Module) -> None:
    """Makes stable sorts in other tools' programs compare equal elements by their positions."""
    with module.context:
        replace_operations(foreign_operations(module, _is_stable), _with_places)


def _is_stable(operation: ir.Operation) -> bool:
    return operation.name == _SORT and ir.BoolAttr(operation.attributes["is_stable"]).value


def _with_places(sort: ir.Operation) -> list[ir.Value]:
    """Rewrites a sort to use an operand of positions, which is added if there is none."""
    kinds, operands = [result.type for result in sort.results], list(sort.operands)
    place = next((at for at, each in enumerate(operands) if _has_places(each, sort)), None)
    if place is None:
        place = len(operands)
        shape = ir.RankedTensorType(operands[0].type).shape
        kinds.append(ir.RankedTensorType.get(shape, ir.IntegerType.get_signless(32)))
        axis = sort.attributes["dimension"]
        operands.append(build_op("stablehlo.iota", kinds[-1], iota_dimension=axis))
    new = ir.Operation.create(_SORT, kinds, operands, dict(sort.attributes.items()), regions=1)
    scalars = [
        ir.RankedTensorType.get([], ir.RankedTensorType(kind).element_type) for kind in kinds
    ]
    block = new.regions[0].blocks.append(*(each for each in scalars for _ in range(2)))
    with ir.InsertionPoint(block):
        _compare(sort.regions[0].blocks[0], list(block.arguments), place)
    return list(new.results)[: len(sort.results)]


def _has_places(operand: ir.Value, sort: ir.Operation) -> bool:
    if isinstance(operand.owner, ir.Block) or operand.owner.operation.name != "stablehlo.iota":
        return False
    counted = operand.owner.operation.attributes["iota_dimension"]
    is_integer = isinstance(ir.RankedTensorType(operand.type).element_type, ir.IntegerType)
    return is_integer and counted == sort.attributes["dimension"]


def _compare(own: ir.Block, arguments: list[ir.Value], place: int) -> None:
    # The arguments are pairs of elements, one for each operand. Swap each pair.
    swapped = [each for pair in zip(arguments[1::2], arguments[::2], strict=True) for each in pair]
    count = len(own.arguments)
    (is_less,) = inline(own, arguments[:count])
    (is_more,) = inline(own, swapped[:count])
    truth = is_less.type
    is_first = build_op(
        "stablehlo.compare",
        truth,
        *arguments[2 * place : 2 * place + 2],
        comparison_direction=_stablehlo.ComparisonDirectionAttr.get("LT"),
    )
    is_equal = build_op("stablehlo.not", truth, is_more)
    decided = build_op("stablehlo.and", truth, is_equal, is_first)
    result = build_op("stablehlo.or", truth, is_less, decided)
    ir.Operation.create("stablehlo.return", operands=[result])
