"""Pipelines between forms of linalg, and the propagation of fixed sizes through linalg IR."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir.modules import build_op, find_operations, replace_operations
from pipelines.ir.values import producer_named
from pipelines.pipeline import Pipeline, Step


def fold_casts_into_concat(module: ir.Module) -> None:
    """Replaces operands of `tensor.concat` that are casts of tensors with more fixed sizes."""
    with module.context:
        concats = find_operations(module, lambda each: each.name == "tensor.concat")
        replace_operations(concats, _without_casts)


def _without_casts(concat: ir.Operation) -> ir.Value | None:
    operands = [_before_cast(operand) for operand in concat.operands]
    if operands == list(concat.operands):
        return None
    dim = concat.attributes["dim"]
    kind = _concatenated([operand.type for operand in operands], ir.IntegerAttr(dim).value)
    fixed = build_op("tensor.concat", kind, *operands, dim=dim)
    return build_op("tensor.cast", concat.results[0].type, fixed)


def _before_cast(value: ir.Value) -> ir.Value:
    cast = producer_named(value, "tensor.cast")
    if cast is not None and isinstance(cast.operands[0].type, ir.RankedTensorType):
        return cast.operands[0]
    return value


def _concatenated(kinds: list[ir.RankedTensorType], axis: int) -> ir.RankedTensorType:
    """Returns the type of a concatenation. A size is fixed if it follows from the operands."""
    shapes = [shape_of(kind) for kind in kinds]
    dynamic = ir.ShapedType.get_dynamic_size()
    sizes = [
        next((size for size in along if size != dynamic), dynamic)
        for along in zip(*shapes, strict=True)
    ]
    parts = [shape[axis] for shape in shapes]
    sizes[axis] = dynamic if dynamic in parts else sum(parts)
    return ir.RankedTensorType.get(sizes, kinds[0].element_type)


def shape_of(kind: ir.RankedTensorType) -> list[int]:
    """Returns the shape of a type. Dynamic sizes are `ShapedType.get_dynamic_size()`."""
    dynamic = ir.ShapedType.get_dynamic_size()
    return [
        dynamic if kind.is_dynamic_dim(axis) else kind.get_dim_size(axis)
        for axis in range(kind.rank)
    ]


PROPAGATE = Pipeline(
    name="set-size",
    stage="linalg",
    hint="report this bug with the model",
    steps=(
        Step("inline", "fix the sizes in functions that the entry function calls"),
        Step(
            "func.func(canonicalize)", "fold casts between dynamic and fixed sizes into their users"
        ),
        Step("func.func(cse)", "merge equal size computations, so that more casts fold"),
        Step(
            "func.func(resolve-shaped-type-result-dims)",
            "compute the sizes of results from those of operands",
        ),
        Step("func.func(canonicalize)", "fold casts of results whose sizes are now constants"),
        Step("func.func(cse)", "merge equal constants"),
        Step(
            "set-size-concat",
            "concatenate the operands of casts; upstream has no folding for tensor.concat",
            fold_casts_into_concat,
        ),
        Step("func.func(canonicalize)", "fold the casts around tensor.concat"),
    ),
)


_HINT = "report this bug with the model"

GENERALIZE = Pipeline(
    name="generalize",
    stage="linalg",
    hint=_HINT,
    steps=(
        Step(
            "func.func(linalg-generalize-named-ops)",
            "replace named operations by linalg.generic",
        ),
    ),
)

SPECIALIZE = Pipeline(
    name="specialize",
    stage="linalg",
    hint=_HINT,
    steps=(
        Step(
            "func.func(linalg-specialize-generic-ops)",
            "replace each linalg.generic that is a named operation by that operation",
        ),
    ),
)
