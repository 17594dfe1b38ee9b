"""Removes what IREE rejects in StableHLO: shape operations, random numbers, dynamic reshapes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch_mlir import ir

from pipelines.exits.stablehlo_random import draw_from_a_seed
from pipelines.ir_modules import find_operations
from pipelines.pipeline import Pipeline, Step
from pipelines.stages import RESHAPES, SEED

STABLEHLO_INPUT = Pipeline(
    name="stablehlo-to-iree",
    stage="compile",
    hint="the StableHLO form is fine, it cannot be taken further here; try --on reference",
    steps=(
        replace(SEED, function=partial(draw_from_a_seed, stage="compile")),
        RESHAPES,
        Step("func.func(remove-shape-constraints)", "broadcasts were checked when captured"),
        Step("func.func(canonicalize)", "assumptions that nothing checks go"),
        Step("func.func(shape-to-shape-lowering)", "products of sizes to reductions"),
        Step("convert-shape-to-std", "computations of shapes to arith and tensor"),
        Step("func.func(canonicalize)", "sizes fold"),
    ),
)


def to_iree(module: ir.Module, name: str) -> None:
    """Rewrites a module at `stablehlo` in place. Most modules with static sizes do not change.

    Raises:
        Error: stage `compile`.
    """
    if find_operations(module, _is_not_taken):
        STABLEHLO_INPUT.apply(module, name)


def _is_not_taken(operation: ir.Operation) -> bool:
    names = ("stablehlo.dynamic_reshape", "stablehlo.rng")
    return operation.name in names or operation.name.startswith("shape.")
