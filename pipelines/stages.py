"""Defines the pipelines between stages: raw -> torch -> linalg | tosa | stablehlo."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import partial

from pipelines.exits.bits import bitcast_views
from pipelines.exits.dynamic_sizes import leave_sizes_open
from pipelines.exits.nan_order import order_nan
from pipelines.exits.operators import for_stablehlo, or_of_booleans
from pipelines.exits.stablehlo_convolution import to_canonical_layout
from pipelines.exits.stablehlo_random import draw_from_a_seed
from pipelines.exits.stablehlo_reshape import reshape_by_hand
from pipelines.exits.stablehlo_sizes import note_strict_sizes, say_what_keeps_its_size
from pipelines.exits.tosa_casts import cast_dynamic_sizes
from pipelines.exits.tosa_integers import give_bytes_their_values
from pipelines.exits.tosa_precision import narrow_f64
from pipelines.exits.tosa_profile import keep_to_profile
from pipelines.exits.tosa_random import refuse_random_numbers
from pipelines.exits.value_checks import leave_out_value_checks
from pipelines.pipeline import Pipeline, Rewrite, Step
from pipelines.stablehlo.origin import is_foreign
from pipelines.stablehlo.stages import CALLS, SCALARS, TO_LINALG_FIRST, UNUSED

_WRITE_SIMPLER = (
    "write it with simpler operators, or give it a decomposition (@unmess.decomposition)"
)

NAN_ORDER = Rewrite(
    "linalg-nan-order",
    "NaN sorts as the largest number, as in PyTorch; torch-mlir's comparisons leave it anywhere",
    order_nan,
)

CAPTURED_NAN_ORDER = replace(
    NAN_ORDER,
    why="as in PyTorch, in captured programs; others say themselves how NaN compares",
    function=lambda module: None if is_foreign(module) else order_nan(module),
)

BITS = Rewrite(
    "linalg-bits",
    "views of elements as another type of the same width, which torch-mlir does not lower",
    bitcast_views,
)

NARROW_F64 = Rewrite(
    "tosa-f32",
    "TOSA has no f64: where the program has none, what torch-mlir computes in f64 is in f32; "
    "skipped for programs with f64 of their own",
    narrow_f64,
)
PROFILE = Rewrite(
    "tosa-profile",
    "64-bit integers are gathered by 64-bit indices; TOSA's extensions have no mixture",
    keep_to_profile,
)
LAYOUT = Rewrite(
    "stablehlo-canonical-layout",
    "convolutions become NHWC, the layout that has a lowering to linalg.conv",
    to_canonical_layout,
)
RESHAPES = Rewrite(
    "stablehlo-dynamic-reshapes",
    "reshapes to computed sizes, which have no lowering, join all dimensions, and split them",
    reshape_by_hand,
)

SEED = Rewrite(
    "stablehlo-random",
    "random numbers come of a seed that each call changes; in their own lowering it is a constant",
    partial(draw_from_a_seed, stage="linalg"),
)

# Composite reshapes that are not decomposed, because they say which dimensions go together.
# Decomposed to aten.view, dynamic ones are lowered incorrectly.
WHOLE = frozenset({"aten.flatten.using_ints", "aten.unflatten.int"})


def _decompose(whole: Collection[str]) -> Step:
    return Step(
        f"func.func(torch-decompose-complex-ops{{legal-ops={','.join(sorted(whole))}}})",
        "composite operators are taken apart, but for these: reshapes that say which dimensions go "
        "together, and what a backend keeps",
    )


TORCH = Pipeline(
    name="torch",
    stage="torch",
    tool="torch-mlir-opt",
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
        _decompose(WHOLE),
        Step(
            "func.func(torch-recompose-complex-ops)",
            "patterns that backends want whole are put together again",
        ),
        Step("func.func(canonicalize)", "what decomposition left dead goes"),
    ),
)


def torch_pipeline(backend_legal_ops: Collection[str] = ()) -> Pipeline:
    """Returns the pipeline to `torch` that also does not decompose these operators."""
    old, new = _decompose(WHOLE), _decompose(WHOLE.union(backend_legal_ops))
    return replace(TORCH, steps=tuple(new if step == old else step for step in TORCH.steps))


LINALG = Pipeline(
    name="linalg",
    stage="linalg",
    tool="torch-mlir-opt",
    hint=f"{_WRITE_SIMPLER}; `unmess ops MODEL` lists all such operators",
    # torch-mlir's own steps and the rewrites, as a list. With separate steps, errors can name the
    # step that failed and the operators that it left in the torch dialect.
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
        BITS,
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
        NAN_ORDER,
    ),
)

_OTHER_EXIT = "the operator, or this form of it, has no lowering to {} today; try --to linalg"

VALUE_CHECKS = Rewrite(
    "no-value-checks",
    "the checks of values that eager refuses (a class of one_hot that there is not) have no form "
    "in the dialect",
    leave_out_value_checks,
)
BOOLEAN_SUMS = Rewrite(
    "boolean-sum-to-or",
    "the sum of booleans, which torch-mlir makes something else of",
    or_of_booleans,
)
RANDOM = Rewrite(
    "tosa-random",
    "random numbers, which torch-mlir makes constants of, have no form in TOSA",
    refuse_random_numbers,
)
INTEGERS = Rewrite(
    "tosa-integers",
    "conversions of bytes keep their values; what computes with them has no form in TOSA",
    give_bytes_their_values,
)
CASTS = Rewrite(
    "tosa-dynamic-casts",
    "conversions of dynamic sizes, which torch-mlir has no lowering for",
    cast_dynamic_sizes,
)
SIZES = Rewrite(
    "dynamic-sizes",
    "reshapes leave a dynamic size open, and broadcasts to what is there go",
    leave_sizes_open,
)
OPERATORS = Rewrite(
    "stablehlo-operators",
    "what torch-mlir makes something else of becomes operators that it has right",
    for_stablehlo,
)

# The steps of torch-mlir's own pipeline, except the first six and the last two.
TOSA = Pipeline(
    name="tosa",
    stage="tosa",
    tool="torch-mlir-opt",
    hint=_OTHER_EXIT.format("TOSA"),
    steps=(
        RANDOM,
        VALUE_CHECKS,
        BOOLEAN_SUMS,
        SIZES,
        INTEGERS,
        CASTS,
        Step(
            "func.func(torch-fuse-quantized-ops)",
            "dequantized operands and requantized results become integer arithmetic",
        ),
        Step(
            "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})",
            "all operators; fails where one has no lowering",
            lenient="func.func(convert-torch-to-tosa{require-full-tosa-conversion=false})",
        ),
        Step(
            "func.func(tosa-layerwise-constant-fold)",
            "what is computed from constants alone becomes a constant",
        ),
        Step(
            "func.func(tosa-reduce-transposes)",
            "transpositions between TOSA's channels-last convolutions cancel out",
        ),
        Step(
            "func.func(tosa-make-broadcastable)",
            "operands of an elementwise operation get equal ranks, which TOSA asks for",
        ),
        Step("func.func(canonicalize)", "reshapes that came of it fold"),
        Step("func.func(cse)", "constants and shapes that are there twice"),
        Step("torch-func-backend-type-conversion", "signatures take builtin tensors"),
        Step("func.func(canonicalize)", "casts at the entry fold"),
        Step("func.func(torch-finalizing-backend-type-conversion)", "no torch type is left"),
        Step("torch-verify-tosa-backend-contract", "and nothing but TOSA and its helpers"),
        NARROW_F64,
        PROFILE,
    ),
)


# The steps of torch-mlir's own pipeline, except the first five and the last. torch-mlir-opt has two
# of the passes only as parts of that pipeline.
STABLEHLO = Pipeline(
    name="stablehlo",
    stage="stablehlo",
    tool="torch-mlir-opt",
    hint=_OTHER_EXIT.format("StableHLO"),
    steps=(
        Rewrite(
            "stablehlo-note-strict-sizes",
            "that no dynamic size is stretched is known of captured programs, and lost below",
            note_strict_sizes,
        ),
        VALUE_CHECKS,
        BOOLEAN_SUMS,
        SIZES,
        OPERATORS,
        Step(
            "func.func(convert-torch-to-stablehlo)",
            "nearly all operators, some of them to CHLO",
            lenient="func.func(convert-torch-to-stablehlo)",
        ),
        Step(
            "func.func(chlo-legalize-to-stablehlo)",
            "CHLO, StableHLO's composite operators, is taken apart",
            tool="unmess-opt",
        ),
        Step("func.func(convert-torch-to-arith)", "scalars and assertions"),
        Step("func.func(canonicalize)", "casts between the two kinds of tensors fold"),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-func-backend-type-conversion-for-stablehlo", "signatures take builtin tensors"),
        Step("func.func(canonicalize)", "casts at the entry fold"),
        Step(
            "func.func(torch-finalizing-backend-type-conversion-for-stablehlo)",
            "no torch type is left; fails where an operator had no lowering",
        ),
        Step("torch-verify-stablehlo-backend-contract", "and no torch operator either"),
        Step(
            "func.func(stablehlo-canonicalize-dynamism)",
            "dynamic forms of operators whose sizes are constants become static ones",
            tool="unmess-opt",
        ),
        Step("func.func(canonicalize)", "sizes fold"),
        Step("stablehlo-refine-shapes", "static sizes go on from operands to results"),
        Step("func.func(canonicalize)", "casts to the sizes of before fold"),
        Step(
            "func.func(stablehlo-canonicalize-dynamism)",
            "once more, for the sizes that have become known",
            tool="unmess-opt",
        ),
        Step("func.func(canonicalize)", "and what came of that"),
        Step(
            "func.func(stablehlo-legalize-deprecated-ops{fail-on-unused=false})",
            "operators that StableHLO is about to drop become those in their place",
        ),
        Step("canonicalize", "what is dead goes"),
        Rewrite(
            "stablehlo-strict-sizes",
            "and each broadcast says so",
            say_what_keeps_its_size,
        ),
    ),
)

TOSA_TO_LINALG = Pipeline(
    name="tosa-to-linalg",
    stage="linalg",
    hint="the TOSA form is fine, it cannot be taken further here; try --to linalg",
    # The same as MLIR's own pipeline, without its checks of a TOSA profile and level. They would
    # reject IR that runs, for a rank or a type that some hardware lacks.
    steps=(
        CALLS,
        UNUSED,
        Step("func.func(tosa-optional-decompositions)", "forms that tosa-to-linalg has not"),
        Step("func.func(canonicalize)", "constants fold, for the patterns that look at them"),
        Step("func.func(tosa-make-broadcastable)", "operands get the rank of the result"),
        Step("func.func(tosa-to-linalg-named)", "convolutions, products, pooling, transposition"),
        Step("func.func(canonicalize)", "shapes fold"),
        Step("func.func(tosa-make-broadcastable)", "operands that the last steps have made"),
        Step("func.func(tosa-to-scf)", "control flow and scatter"),
        Step("func.func(tosa-to-linalg)", "element by element, reductions, gather, resize"),
        Step("func.func(tosa-to-tensor)", "reshape, slice, pad, concat"),
        Step("func.func(tosa-to-arith)", "constants"),
        Step("func.func(canonicalize)", "sizes fold"),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-verify-linalg-on-tensors-backend-contract", "no TOSA operation is left"),
        NAN_ORDER,
    ),
)

STABLEHLO_TO_LINALG = Pipeline(
    name="stablehlo-to-linalg",
    stage="linalg",
    hint="the StableHLO form is fine, it cannot be taken further here; try --to linalg",
    steps=(
        *TO_LINALG_FIRST,
        SEED,
        LAYOUT,
        RESHAPES,
        Step("func.func(canonicalize)", "constants fold, for the patterns that look at them"),
        Step("func.func(stablehlo-legalize-to-linalg)", "nearly all operations"),
        Step(
            "stablehlo-convert-to-signless",
            "arith has no unsigned types; operations on them have been lowered as such",
        ),
        Step("func.func(remove-shape-constraints)", "broadcasts were checked when captured"),
        Step("func.func(canonicalize)", "assumptions that nothing checks go"),
        SCALARS,
        Step("func.func(shape-to-shape-lowering)", "products of sizes to reductions"),
        Step("convert-shape-to-std", "computations of shapes to arith and tensor"),
        Step("func.func(canonicalize)", "sizes fold"),
        Step("func.func(cse)", "sizes that are computed twice"),
        Step("torch-verify-linalg-on-tensors-backend-contract", "no StableHLO operation is left"),
        CAPTURED_NAN_ORDER,
    ),
)

# The pipelines from other exits to linalg, which the reference runner compiles.
TO_LINALG = {"tosa": TOSA_TO_LINALG, "stablehlo": STABLEHLO_TO_LINALG}

# For each stage, the pipelines from `raw` to it, by the stage that each one reaches.
PATHS: dict[str, dict[str, Pipeline]] = {
    "raw": {},
    "torch": {"torch": TORCH},
    "linalg": {"torch": TORCH, "linalg": LINALG},
    "tosa": {"torch": TORCH, "tosa": TOSA},
    "stablehlo": {"torch": TORCH, "stablehlo": STABLEHLO},
}
