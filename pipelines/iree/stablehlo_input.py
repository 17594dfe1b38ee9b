"""Removes what IREE rejects in StableHLO: shape operations, random numbers, dynamic reshapes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from torch_mlir import ir

from pipelines.ir.modules import find_operations
from pipelines.output_dialects.stablehlo_random import draw_from_seed
from pipelines.pipeline import Pipeline, Step
from pipelines.stages import RESHAPES, SEED

STABLEHLO_INPUT = Pipeline(
    name="stablehlo-to-iree",
    stage="compile",
    hint="the IR is valid StableHLO, but has no lowering for IREE: try --on reference",
    steps=(
        replace(SEED, function=partial(draw_from_seed, stage="compile")),
        RESHAPES,
        Step(
            "func.func(remove-shape-constraints)",
            "remove constraints on broadcasts, which were checked at the capture",
        ),
        Step("func.func(canonicalize)", "remove assumptions that nothing checks"),
        Step("func.func(shape-to-shape-lowering)", "lower products of sizes to reductions"),
        Step("convert-shape-to-std", "lower shape computations to arith and tensor"),
        Step("func.func(canonicalize)", "fold sizes"),
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
