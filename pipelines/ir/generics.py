"""Creates `linalg.generic` operations with bodies built in Python, and inlines bodies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch_mlir import ir

from pipelines.ir.modules import replace_operands


def generic(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    axes: Sequence[Sequence[int | ir.AffineExpr]],
    kinds: Sequence[str],
    body: Callable[..., Sequence[ir.Value]],
) -> list[ir.Value]:
    """Creates a `linalg.generic` at the insertion point.

    Args:
        inputs, outputs, axes, kinds: see `generic_without_body`.
        body: takes the elements of inputs and outputs, and returns those of the results.
    """
    operation = generic_without_body(inputs, outputs, axes, kinds)
    elements = [ir.ShapedType(each.type).element_type for each in (*inputs, *outputs)]
    block = operation.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", [], list(body(*block.arguments)))
    return list(operation.results)


def generic_without_body(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    axes: Sequence[Sequence[int | ir.AffineExpr]],
    kinds: Sequence[str],
) -> ir.Operation:
    """Creates a `linalg.generic` whose region has no block yet.

    Args:
        axes: for each operand, the loop that indexes each of its axes, or an expression.
        kinds: `parallel` or `reduction`, for each loop.
    """
    maps = [
        ir.AffineMap.get(len(kinds), 0, [_expression(index) for index in operand])
        for operand in axes
    ]
    kinds = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    return ir.Operation.create(
        "linalg.generic",
        [output.type for output in outputs],
        [*inputs, *outputs],
        {
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for each in maps]),
            "iterator_types": ir.ArrayAttr.get(kinds),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
        },
        regions=1,
    )


def _expression(index: int | ir.AffineExpr) -> ir.AffineExpr:
    return ir.AffineExpr.get_dim(index) if isinstance(index, int) else index


def elementwise(
    inputs: Sequence[ir.Value],
    output: ir.Value,
    body: Callable[..., Sequence[ir.Value]],
) -> ir.Value:
    """Creates a `linalg.generic` whose operands all have the output's shape."""
    rank = ir.ShapedType(output.type).rank
    axes = [list(range(rank))] * (len(inputs) + 1)
    return generic(inputs, [output], axes, ["parallel"] * rank, body)[0]


def is_reduction(operation: ir.Operation) -> bool:
    """Returns whether an operation is a `linalg.generic` with at least one reduction loop."""
    return operation.name == "linalg.generic" and any(
        "reduction" in str(kind) for kind in operation.attributes["iterator_types"]
    )


def inline(body: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Copies a body to the insertion point, with these arguments.

    Returns:
        The values that its terminator yields.
    """
    known = dict(zip(body.arguments, arguments, strict=True))
    *operations, terminator = (each.operation for each in body.operations)
    for operation in operations:
        copy = operation.clone().operation
        replace_operands(copy, known)
        known.update(zip(operation.results, copy.results, strict=True))
    return [known.get(operand, operand) for operand in terminator.operands]
