"""The pipelines between stages: raw -> torch -> linalg | tosa | stablehlo."""

from __future__ import annotations

from pipelines.pipeline import Pipeline, Step

_WRITE_SIMPLER = (
    "write it with simpler operators, or give it a decomposition (@unmess.decomposition)"
)

TORCH = Pipeline(
    name="torch",
    stage="torch",
    hint=f"{_WRITE_SIMPLER}; `unmess ops MODEL` lists all such operators",
    steps=(
        Step(
            "func.func(torch-match-quantized-custom-ops)",
            "quantized_decomposed operators become torch dialect ones",
        ),
        Step("inline", "sub-graphs of higher-order operators join their caller"),
        Step(
            "func.func(torch-reduce-op-variants{extra-library=})",
            "in-place and scalar variants become value-semantic operators",
        ),
        Step("func.func(canonicalize)", "constants fold before decompositions look at them"),
        Step(
            "func.func(torch-decompose-complex-ops{legal-ops="
            "aten.flatten.using_ints,aten.unflatten.int})",
            "composite operators are taken apart, but for those that say which dimensions of a "
            "reshape go together: as aten.view, dynamic ones are lowered wrongly",
        ),
        Step(
            "func.func(torch-recompose-complex-ops)",
            "patterns that backends want whole are put together again",
        ),
        Step("func.func(canonicalize)", "what decomposition left dead goes"),
    ),
)

LINALG = Pipeline(
    name="linalg",
    stage="linalg",
    hint=f"{_WRITE_SIMPLER}; `unmess ops MODEL` lists all such operators",
    # torch-mlir's own list, spelled out: a step that fails is known by its name, and what it left
    # in the torch dialect can be told.
    steps=(
        Step(
            "func.func(torch-restructure-non-constant-axes)",
            "an axis that is computed becomes a choice between constant ones",
        ),
        Step(
            "func.func(torch-fuse-quantized-ops)",
            "dequantized operands and requantized results become integer arithmetic",
        ),
        Step(
            "func.func(convert-torch-to-tmtensor)",
            "sort, scan, scatter, top-k and attention, which linalg has no form for",
        ),
        Step("func.func(canonicalize)", "constants fold, for the patterns that look at them"),
        Step("func.func(convert-torch-to-linalg)", "nearly all operators"),
        Step("func.func(canonicalize)", "casts between the two kinds of tensors fold"),
        Step("func.func(convert-torch-to-scf)", "control flow"),
        Step("func.func(convert-torch-to-arith)", "scalars and assertions"),
        Step("func.func(convert-torch-to-tensor)", "items, shapes and empty tensors"),
        Step("convert-torch-conversion-to-mlprogram", "the seed of random numbers"),
        Step("func.func(memref-expand)", "reshapes with computed sizes"),
        Step("func.func(canonicalize)", "sizes fold"),
        Step(
            "func.func(resolve-shaped-type-result-dims)",
            "sizes of results are computed from those of operands",
        ),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-func-backend-type-conversion", "signatures take builtin tensors"),
        Step("func.func(canonicalize)", "casts at the entry fold"),
        Step(
            "func.func(torch-finalizing-backend-type-conversion)",
            "no torch type is left; fails where an operator had no lowering",
        ),
        Step("torch-verify-linalg-on-tensors-backend-contract", "and no torch operator either"),
    ),
)

TOSA = Pipeline(
    name="tosa",
    stage="tosa",
    hint="the operator, or this form of it, has no lowering to TOSA today; try --to linalg",
    steps=(
        Step("torch-backend-to-tosa-backend-pipeline", "torch-mlir's own list, contract included"),
    ),
)

STABLEHLO = Pipeline(
    name="stablehlo",
    stage="stablehlo",
    hint="the operator, or this form of it, has no lowering to StableHLO today; try --to linalg",
    steps=(
        Step(
            "torch-backend-to-stablehlo-backend-pipeline",
            "torch-mlir's own list, contract included",
        ),
    ),
)

TOSA_TO_LINALG = Pipeline(
    name="tosa-to-linalg",
    stage="linalg",
    hint="the TOSA form is fine, it cannot be taken further here; try --to linalg",
    # What MLIR's own list does, but for its checks of a TOSA profile and level: IR that runs is
    # not to be refused for a rank or a type that some hardware lacks.
    steps=(
        Step("func.func(tosa-optional-decompositions)", "forms that tosa-to-linalg has not"),
        Step("func.func(canonicalize)", "constants fold, for the patterns that look at them"),
        Step("func.func(tosa-make-broadcastable)", "operands get the rank of the result"),
        Step("func.func(tosa-to-linalg-named)", "convolutions, products, pooling, transposition"),
        Step("func.func(canonicalize)", "shapes fold"),
        Step("func.func(tosa-make-broadcastable)", "operands that the last steps have made"),
        Step("func.func(tosa-to-linalg)", "element by element, reductions, gather, resize"),
        Step("func.func(tosa-to-scf)", "control flow and scatter"),
        Step("func.func(tosa-to-tensor)", "reshape, slice, pad, concat"),
        Step("func.func(tosa-to-arith)", "constants"),
        Step("func.func(canonicalize)", "sizes fold"),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-verify-linalg-on-tensors-backend-contract", "no TOSA operation is left"),
    ),
)

STABLEHLO_TO_LINALG = Pipeline(
    name="stablehlo-to-linalg",
    stage="linalg",
    hint="the StableHLO form is fine, it cannot be taken further here; try --to linalg",
    steps=(
        Step("stablehlo-convert-to-signless", "arith has no unsigned types"),
        Step("func.func(canonicalize)", "constants fold, for the patterns that look at them"),
        Step("func.func(stablehlo-legalize-to-linalg)", "nearly all operations"),
        Step("func.func(remove-shape-constraints)", "broadcasts were checked when captured"),
        Step("func.func(canonicalize)", "assumptions that nothing checks go"),
        Step("func.func(shape-to-shape-lowering)", "products of sizes to reductions"),
        Step("convert-shape-to-std", "computations of shapes to arith and tensor"),
        Step("func.func(canonicalize)", "sizes fold"),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-verify-linalg-on-tensors-backend-contract", "no StableHLO operation is left"),
    ),
)

# From an exit back to what the reference runner takes.
TO_LINALG = {"tosa": TOSA_TO_LINALG, "stablehlo": STABLEHLO_TO_LINALG}

# For each stage, the pipelines that lead there from `raw`, by the stage that each one reaches.
PATHS: dict[str, dict[str, Pipeline]] = {
    "raw": {},
    "torch": {"torch": TORCH},
    "linalg": {"torch": TORCH, "linalg": LINALG},
    "tosa": {"torch": TORCH, "tosa": TOSA},
    "stablehlo": {"torch": TORCH, "stablehlo": STABLEHLO},
}
