"""Defines the pipelines from TOSA and StableHLO to linalg, which both runners compile."""

from __future__ import annotations

from dataclasses import replace

from pipelines.output_dialects.infinite_starts import start_at_infinities
from pipelines.output_dialects.nan_order import order_nan
from pipelines.output_dialects.stablehlo_convolution import to_canonical_layout
from pipelines.output_dialects.stablehlo_random import draw_from_seed
from pipelines.output_dialects.stablehlo_sizes import decompose_dynamic_reshapes
from pipelines.output_dialects.tosa_broadcasts import remove_dynamic_broadcasts
from pipelines.pipeline import Pipeline, Step
from pipelines.stablehlo.origin import is_foreign
from pipelines.stablehlo.stages import (
    CALLS,
    CONTROL_FLOW,
    CONVOLUTIONS,
    SCALARS,
    TO_LINALG_FIRST,
    UNUSED,
)
from pipelines.stages import NAN_ORDER

CAPTURED_NAN_ORDER = replace(
    NAN_ORDER,
    why="sort NaN as the largest number, as PyTorch does; in captured programs only",
    function=lambda module: None if is_foreign(module) else order_nan(module),
)

LAYOUT = Step(
    "stablehlo-canonical-layout",
    "convert convolutions to NHWC, the only layout with a lowering to linalg.conv",
    to_canonical_layout,
)
RESHAPES = Step(
    "stablehlo-dynamic-reshapes",
    "replace reshapes to computed sizes, which have no lowering, by a collapse and an expansion",
    decompose_dynamic_reshapes,
)

SEED = Step(
    "stablehlo-random",
    "draw random numbers from a seed that each call changes; the upstream lowering uses "
    "a constant seed",
    draw_from_seed,
)

TOSA_TO_LINALG = Pipeline(
    name="tosa-to-linalg",
    stage="linalg",
    hint="the IR is valid TOSA, but has no lowering to linalg here: try --to linalg",
    # The same as MLIR's own pipeline, without its checks of a TOSA profile and level. They would
    # reject IR that runs, for a rank or a type that some hardware lacks.
    steps=(
        CALLS,
        UNUSED,
        Step(
            "func.func(tosa-optional-decompositions)",
            "decompose forms that tosa-to-linalg does not support",
        ),
        Step("func.func(canonicalize)", "fold constants, for the conversion patterns"),
        Step("func.func(tosa-make-broadcastable)", "give operands the rank of the result"),
        Step(
            "func.func(tosa-to-linalg-named)",
            "lower convolutions, matrix products, pooling and transposition",
        ),
        Step("func.func(canonicalize)", "fold shapes"),
        Step(
            "func.func(tosa-make-broadcastable)",
            "give operands of the new operations the rank of the result",
        ),
        CONTROL_FLOW,  # tosa-to-scf fails for a branch in a branch.
        Step("func.func(tosa-to-scf)", "lower loops and scatter"),
        Step(
            "func.func(tosa-to-linalg)",
            "lower elementwise operations, reductions, gather and resize",
        ),
        Step(
            "tosa-infinite-starts",
            "start maxima and minima at infinities; MLIR starts them at the largest finite "
            "numbers, so that the maximum of -inf and -inf is finite",
            start_at_infinities,
        ),
        Step(
            "tosa-strict-sizes",
            "remove broadcasts of dynamic sizes in the marked functions; IREE stops such programs",
            remove_dynamic_broadcasts,
        ),
        Step("func.func(tosa-to-tensor)", "lower reshape, slice, pad and concat"),
        Step(
            "func.func(tosa-to-arith{include-apply-rescale=true})",
            "lower constants and the scaling of integers",
        ),
        Step("func.func(canonicalize)", "fold sizes"),
        Step("func.func(cse)", "merge equal size computations"),
        Step(
            "torch-verify-linalg-on-tensors-backend-contract",
            "verify that no TOSA operation is left",
        ),
        NAN_ORDER,
    ),
)

STABLEHLO_TO_LINALG = Pipeline(
    name="stablehlo-to-linalg",
    stage="linalg",
    hint="the IR is valid StableHLO, but has no lowering to linalg here: try --to linalg",
    steps=(
        *TO_LINALG_FIRST,
        SEED,
        LAYOUT,
        CONVOLUTIONS,
        RESHAPES,
        Step("func.func(canonicalize)", "fold constants, for the conversion patterns"),
        Step("func.func(stablehlo-legalize-to-linalg)", "lower most operations"),
        Step(
            "stablehlo-convert-to-signless",
            "replace unsigned types, which arith does not have; their operations are "
            "already lowered",
        ),
        Step(
            "func.func(remove-shape-constraints)",
            "remove constraints on broadcasts, which were checked at the capture",
        ),
        Step("func.func(canonicalize)", "remove assumptions that nothing checks"),
        SCALARS,
        Step("func.func(shape-to-shape-lowering)", "lower products of sizes to reductions"),
        Step("convert-shape-to-std", "lower shape computations to arith and tensor"),
        Step("func.func(canonicalize)", "fold sizes"),
        Step("func.func(cse)", "merge equal size computations"),
        Step(
            "torch-verify-linalg-on-tensors-backend-contract",
            "verify that no StableHLO operation is left",
        ),
        CAPTURED_NAN_ORDER,
    ),
)

# The pipelines by the output dialect that they start from.
TO_LINALG = {"tosa": TOSA_TO_LINALG, "stablehlo": STABLEHLO_TO_LINALG}
