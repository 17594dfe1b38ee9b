"""Makes sorts stable on IREE, whose own sort is not stable."""

from __future__ import annotations

from torch_mlir import ir
from torch_mlir._mlir_libs import _stablehlo

from pipelines.ir.bodies import inline
from pipelines.ir.modules import build_op
from pipelines.stablehlo.origin import foreign_operations

_SORT = "stablehlo.sort"


def make_sorts_stable(module: ir.Module) -> None:
    """Makes stable sorts in other tools' programs compare equal elements by their positions."""
    with module.context:
        for sort in foreign_operations(module, _is_stable):
            with ir.InsertionPoint(sort), sort.location:
                results = _with_places(sort)
            for old, new in zip(sort.results, results, strict=True):
                old.replace_all_uses_with(new)
            sort.erase()


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
