"""StableHLO as IREE takes it: without the shape dialect and reshapes to computed sizes."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir_modules import find_operations
from pipelines.pipeline import Pipeline, Step
from pipelines.stages import RESHAPES

STABLEHLO_INPUT = Pipeline(
    name="stablehlo-to-iree",
    stage="compile",
    hint="the StableHLO form is fine, it cannot be taken further here; try --on reference",
    steps=(
        RESHAPES,
        Step("func.func(remove-shape-constraints)", "broadcasts were checked when captured"),
        Step("func.func(canonicalize)", "assumptions that nothing checks go"),
        Step("func.func(shape-to-shape-lowering)", "products of sizes to reductions"),
        Step("convert-shape-to-std", "computations of shapes to arith and tensor"),
        Step("func.func(canonicalize)", "sizes fold"),
    ),
)


def to_iree(module: ir.Module, name: str) -> None:
    """Changes a module at `stablehlo` in place; one of static sizes stays as it is.

    Raises:
        Error: stage `compile`.
    """
    if find_operations(module, _is_not_taken):
        STABLEHLO_INPUT.apply(module, name)


def _is_not_taken(operation: ir.Operation) -> bool:
    return operation.name == "stablehlo.dynamic_reshape" or operation.name.startswith("shape.")
