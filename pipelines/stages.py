"""Defines the pipelines between stages: raw -> torch -> linalg | tosa | stablehlo."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pipelines.integers.linalg import integers_to_linalg
from pipelines.integers.stablehlo import integers_to_stablehlo
from pipelines.integers.tosa import integers_to_tosa
from pipelines.linalg_form.branches import TENSOR_BRANCHES
from pipelines.output_dialects.booleans import rewrite_booleans
from pipelines.output_dialects.control_flow import (
    control_flow_to_stablehlo,
    control_flow_to_tosa,
)
from pipelines.output_dialects.cumulative import accumulate_in_f64, rewrite_cumulative
from pipelines.output_dialects.dynamic_sizes import infer_reshape_sizes
from pipelines.output_dialects.indexed_elements import (
    combine_indexed_elements,
    rewrite_scatter_reduce,
)
from pipelines.output_dialects.loop_slices import slice_rows
from pipelines.output_dialects.nan_order import order_nan, order_nan_at_stablehlo
from pipelines.output_dialects.narrow_casts import convert_in_two_steps
from pipelines.output_dialects.narrow_sums import narrow_sums
from pipelines.output_dialects.narrowed_constants import fold_narrowed_constants
from pipelines.output_dialects.nearest import rewrite_nearest
from pipelines.output_dialects.operators import rewrite_for_stablehlo
from pipelines.output_dialects.slice_scatters import concatenate_slices
from pipelines.output_dialects.sorts import sort_all, sort_dynamic_sizes
from pipelines.output_dialects.stablehlo_sizes import (
    annotate_broadcasts,
    refine_sizes,
)
from pipelines.output_dialects.stablehlo_slices import keep_empty_slices
from pipelines.output_dialects.strict_sizes import note_strict_sizes
from pipelines.output_dialects.tosa_broadcasts import note_dynamic_sizes
from pipelines.output_dialects.tosa_convolutions import divide_groups
from pipelines.output_dialects.tosa_dynamic_sizes import lower_dynamic_sizes
from pipelines.output_dialects.tosa_integers import keep_uint8_values
from pipelines.output_dialects.tosa_operators import rewrite_for_tosa
from pipelines.output_dialects.tosa_slices import slice_dynamic_sizes
from pipelines.output_dialects.tosa_types import (
    cast_dynamic_sizes,
    conform_to_profile,
    narrow_f64,
    refuse_random_numbers,
)
from pipelines.output_dialects.transposed_convolutions import convolve_phases
from pipelines.output_dialects.unsigned_constants import bitcast_views, return_builtin_tensors
from pipelines.output_dialects.value_checks import remove_value_checks
from pipelines.pipeline import Pipeline, Step

_WRITE_SIMPLER = (
    "write the model with simpler operators, or add a decomposition (@unmess.decomposition)"
)

NAN_ORDER = Step(
    "linalg-nan-order",
    "sort NaN as the largest number, as PyTorch does; torch-mlir's comparisons leave it anywhere",
    order_nan,
)

STABLEHLO_NAN_ORDER = Step(
    "stablehlo-nan-order",
    "let NaN win in argmax, argmin, and max and min with indices; torch-mlir ignores it",
    order_nan_at_stablehlo,
)
NARROWED_CONSTANTS = Step(
    "linalg-narrowed-constants",
    "fold narrowed constants, such as numbers in f64; MLIR does not fold them if they round",
    fold_narrowed_constants,
)

NARROW_SUMS = Step(
    "linalg-narrow-sums",
    "sum products of i32 in i32 if the sums are narrowed to it; torch-mlir sums them in i64",
    narrow_sums,
)

ROWS = Step(
    "linalg-loop-slices",
    "read and write the rows of loops over sequences as slices, not by index tensors",
    slice_rows,
)

BITS = Step(
    "linalg-bits",
    "lower views of elements as another type of the same width, which torch-mlir does not support",
    bitcast_views,
)

BUILTIN_RESULTS = Step(
    "builtin-results",
    "return builtin tensors: torch-mlir folds casts of uint8 constants to int8 literals",
    return_builtin_tensors,
)

TRANSPOSED_CONVOLUTIONS = Step(
    "linalg-transposed-convolutions",
    "compute strided transposed convolutions by phase; torch-mlir multiplies zeros that it inserts "
    "between the elements of the image",
    convolve_phases,
)

LINALG_INTEGERS = Step(
    "linalg-integer-programs",
    "lower the operators of integer programs to named operations and rescaling",
    integers_to_linalg,
)
TOSA_INTEGERS = Step(
    "tosa-integer-programs",
    "lower the operators of integer programs to TOSA's rescale and products of integers",
    integers_to_tosa,
)
STABLEHLO_INTEGERS = Step(
    "stablehlo-integer-programs",
    "lower the operators of integer programs to products and scaling of wider integers",
    integers_to_stablehlo,
)
NARROW_F64 = Step(
    "tosa-f32",
    "compute in f32 what torch-mlir computes in f64, since TOSA has no f64; skipped for "
    "programs that use f64 themselves",
    narrow_f64,
)
PROFILE = Step(
    "tosa-profile",
    "use 64-bit indices to gather 64-bit integers: TOSA's extensions allow no other combination",
    conform_to_profile,
)
NARROW_CASTS = Step(
    "narrow-casts",
    "convert floats to integers of 8 and 16 bits through wider ones; torch-mlir's casts are "
    "undefined for numbers out of range",
    convert_in_two_steps,
)

ACCUMULATORS = Step(
    "linalg-cumulative-f64",
    "add and multiply cumulatively in f64, as eager does; torch-mlir uses f32",
    accumulate_in_f64,
)

# Composite reshapes that are not decomposed, because they say which dimensions go together.
# Decomposed to aten.view, dynamic ones are lowered incorrectly.
KEPT_OPS = frozenset({"aten.flatten.using_ints", "aten.unflatten.int"})


def _decompose(keep_ops: Collection[str]) -> Step:
    return Step(
        f"func.func(torch-decompose-complex-ops{{legal-ops={','.join(sorted(keep_ops))}}})",
        "decompose composite operators, except reshapes that keep groups of dimensions "
        "together, and operators that the backend keeps",
    )


TORCH = Pipeline(
    name="torch",
    stage="torch",
    tool="torch-mlir-opt",
    hint=f"{_WRITE_SIMPLER}; run `unmess ops MODEL` to list all such operators",
    steps=(
        Step(
            "func.func(torch-match-quantized-custom-ops)",
            "convert operators of quantized_decomposed to the torch dialect",
        ),
        Step("inline", "inline the sub-graphs of higher-order operators"),
        Step(
            "func.func(torch-reduce-op-variants{extra-library=})",
            "replace in-place and scalar variants by value-semantic operators",
        ),
        Step("func.func(canonicalize)", "fold constants, for the decompositions"),
        _decompose(KEPT_OPS),
        Step(
            "func.func(torch-recompose-complex-ops)",
            "recompose patterns that backends lower as one operator",
        ),
        Step("func.func(canonicalize)", "remove operations that decompositions left unused"),
    ),
)


def torch_pipeline(backend_legal_ops: Collection[str] = ()) -> Pipeline:
    """Returns the pipeline to `torch` that also does not decompose these operators."""
    old, new = _decompose(KEPT_OPS), _decompose(KEPT_OPS.union(backend_legal_ops))
    return replace(TORCH, steps=tuple(new if step == old else step for step in TORCH.steps))


LINALG = Pipeline(
    name="linalg",
    stage="linalg",
    tool="torch-mlir-opt",
    hint=f"{_WRITE_SIMPLER}; run `unmess ops MODEL` to list all such operators",
    # torch-mlir's own steps and the rewrites, as a list. With separate steps, errors can name the
    # step that failed and the operators that it left in the torch dialect.
    steps=(
        LINALG_INTEGERS,
        TRANSPOSED_CONVOLUTIONS,
        ROWS,
        NARROW_CASTS,
        ACCUMULATORS,
        Step(
            "func.func(torch-restructure-non-constant-axes)",
            "replace a computed axis by a choice between constant ones",
        ),
        Step(
            "func.func(torch-fuse-quantized-ops)",
            "fuse dequantized operands and requantized results into integer arithmetic",
        ),
        Step(
            "func.func(convert-torch-to-tmtensor)",
            "lower sort, scan, scatter, top-k and attention to tm_tensor",
        ),
        Step("func.func(canonicalize)", "fold constants, for the conversion patterns"),
        Step("func.func(convert-torch-to-linalg)", "lower most operators to linalg"),
        BITS,
        Step("func.func(canonicalize)", "fold casts between torch tensors and builtin tensors"),
        Step("func.func(convert-torch-to-scf)", "lower control flow"),
        Step("func.func(convert-torch-to-arith)", "lower scalars and assertions"),
        Step("func.func(convert-torch-to-tensor)", "lower items, shapes and empty tensors"),
        Step(
            "convert-torch-conversion-to-mlprogram", "lower the seed of random numbers to a global"
        ),
        Step("func.func(memref-expand)", "lower reshapes with computed sizes"),
        BUILTIN_RESULTS,
        Step("func.func(canonicalize)", "fold sizes"),
        Step(
            "func.func(resolve-shaped-type-result-dims)",
            "compute the sizes of results from those of operands",
        ),
        Step("func.func(cse)", "merge equal size computations"),
        Step("torch-func-backend-type-conversion", "convert signatures to builtin tensors"),
        Step("func.func(canonicalize)", "fold casts at function entries"),
        Step(
            "func.func(torch-finalizing-backend-type-conversion)",
            "finalize type conversion; fails if an operator has no lowering",
        ),
        TENSOR_BRANCHES,
        Step(
            "torch-verify-linalg-on-tensors-backend-contract",
            "verify that no torch operator is left",
        ),
        NARROWED_CONSTANTS,
        NARROW_SUMS,
        NAN_ORDER,
    ),
)

_OTHER_DIALECT = "this operator, or this form of it, has no lowering to {}: try --to linalg"

VALUE_CHECKS = Step(
    "no-value-checks",
    "remove checks of values that eager rejects, such as a class of one_hot that is out "
    "of range; the dialect has no assertions",
    remove_value_checks,
)
SLICE_SCATTERS = Step(
    "concatenate-slices",
    "replace slice_scatter by a concatenation; torch-mlir's lowering to TOSA creates an index for "
    "each element, and its lowering to StableHLO runs out of memory for `x[:, 2:] = y`",
    concatenate_slices,
)
NEAREST = Step(
    "nearest-interpolation",
    "repeat or select elements for nearest interpolation, which torch-mlir lowers to linalg only",
    rewrite_nearest,
)
CUMULATIVE = Step(
    "cumulative-operators",
    "compute each cumulative product from its factors, and each sum of dynamic sizes from its "
    "terms; torch-mlir lowers them to linalg only",
    rewrite_cumulative,
)
BOOLEANS = Step(
    "boolean-operators",
    "replace sums and orders of booleans, which torch-mlir lowers incorrectly or not at all",
    rewrite_booleans,
)
RANDOM = Step(
    "tosa-random",
    "reject random numbers, which torch-mlir lowers to constants",
    refuse_random_numbers,
)
INTEGERS = Step(
    "tosa-integers",
    "lower casts of uint8 correctly, and reject arithmetic on it, which TOSA does not have",
    keep_uint8_values,
)
CASTS = Step(
    "tosa-dynamic-casts",
    "lower casts with dynamic sizes, which torch-mlir does not support",
    cast_dynamic_sizes,
)
SIZES = Step(
    "dynamic-sizes",
    "leave one dynamic size of each reshape open, and remove broadcasts to the same size",
    infer_reshape_sizes,
)
TOSA_OPERATORS = Step(
    "tosa-operators",
    "rewrite operators whose lowering by torch-mlir loses special values, or digits of f64",
    rewrite_for_tosa,
)
OPERATORS = Step(
    "stablehlo-operators",
    "replace operators that torch-mlir lowers incorrectly",
    rewrite_for_stablehlo,
)

# The steps of torch-mlir's own pipeline, except the first six and the last two.
TOSA = Pipeline(
    name="tosa",
    stage="tosa",
    tool="torch-mlir-opt",
    hint=_OTHER_DIALECT.format("TOSA"),
    steps=(
        BOOLEANS,
        TOSA_INTEGERS,
        Step(
            "tosa-note-strict-sizes",
            "mark functions with dynamic sizes that broadcasts do not expand: captured programs "
            "guarantee this, and the lowering loses it",
            note_dynamic_sizes,
        ),
        RANDOM,
        VALUE_CHECKS,
        SLICE_SCATTERS,
        NEAREST,
        CUMULATIVE,
        Step(
            "tosa-sorts",
            "sort by counting smaller elements; TOSA has no sort",
            sort_all,
        ),
        Step(
            "tosa-indexed-elements",
            "add and reduce indexed elements by comparing indices, since TOSA's scatter only "
            "replaces elements",
            combine_indexed_elements,
        ),
        SIZES,
        Step(
            "tosa-convolution-groups",
            "divide convolutions with 32 or more groups, and transposed ones with groups, which "
            "torch-mlir does not support",
            divide_groups,
        ),
        Step(
            "tosa-dynamic-sizes",
            "lower broadcasts, joined and selected tensors with dynamic sizes, which torch-mlir "
            "does not support",
            lower_dynamic_sizes,
        ),
        NARROW_CASTS,
        INTEGERS,
        CASTS,
        Step(
            "tosa-dynamic-slices",
            "lower slices of tensors with dynamic sizes, which torch-mlir does not support",
            slice_dynamic_sizes,
        ),
        Step(
            "tosa-control-flow",
            "lower loops and branches, which torch-mlir does not support",
            control_flow_to_tosa,
        ),
        Step(
            "func.func(torch-fuse-quantized-ops)",
            "fuse dequantized operands and requantized results into integer arithmetic",
        ),
        TOSA_OPERATORS,
        Step(
            "func.func(convert-torch-to-tosa{require-full-tosa-conversion=true})",
            "lower all operators; fails if one has no lowering",
            lenient="func.func(convert-torch-to-tosa{require-full-tosa-conversion=false})",
        ),
        BUILTIN_RESULTS,
        Step(
            "func.func(tosa-layerwise-constant-fold)",
            "fold operations on constants",
        ),
        Step(
            "func.func(tosa-reduce-transposes)",
            "cancel transpositions between TOSA's channels-last convolutions",
        ),
        Step(
            "func.func(tosa-make-broadcastable)",
            "give operands of elementwise operations equal ranks, as TOSA requires",
        ),
        Step("func.func(canonicalize)", "fold the inserted reshapes"),
        Step("func.func(cse)", "merge equal constants and shapes"),
        Step("torch-func-backend-type-conversion", "convert signatures to builtin tensors"),
        Step("func.func(canonicalize)", "fold casts at function entries"),
        Step("func.func(torch-finalizing-backend-type-conversion)", "finalize type conversion"),
        Step(
            "torch-verify-tosa-backend-contract",
            "verify that only TOSA and its helper operations are left",
        ),
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
    hint=_OTHER_DIALECT.format("StableHLO"),
    steps=(
        STABLEHLO_INTEGERS,
        Step(
            "stablehlo-note-strict-sizes",
            "mark dynamic sizes that broadcasts do not expand: captured programs "
            "guarantee this, and the lowering loses it",
            note_strict_sizes,
        ),
        VALUE_CHECKS,
        BOOLEANS,
        SLICE_SCATTERS,
        NEAREST,
        CUMULATIVE,
        Step(
            "stablehlo-sorts",
            "sort tensors of dynamic sizes by counting smaller elements; torch-mlir's lowering "
            "has no dynamic sizes",
            sort_dynamic_sizes,
        ),
        Step(
            "stablehlo-scatter-reduce",
            "reduce scattered elements by comparing indices; torch-mlir does not lower "
            "scatter_reduce",
            rewrite_scatter_reduce,
        ),
        SIZES,
        NARROW_CASTS,
        OPERATORS,
        Step(
            "stablehlo-control-flow",
            "lower loops and branches, which torch-mlir does not support",
            control_flow_to_stablehlo,
        ),
        Step(
            "func.func(convert-torch-to-stablehlo)",
            "lower most operators, some of them to CHLO",
            lenient="func.func(convert-torch-to-stablehlo)",
        ),
        STABLEHLO_NAN_ORDER,
        Step(
            "stablehlo-empty-slices",
            "keep slices empty whose computed end is 0; torch-mlir continues them to the end of "
            "the axis",
            keep_empty_slices,
        ),
        Step(
            "func.func(chlo-legalize-to-stablehlo)",
            "lower CHLO, StableHLO's composite operators",
            tool="unmess-opt",
        ),
        Step("func.func(convert-torch-to-arith)", "lower scalars and assertions"),
        BUILTIN_RESULTS,
        Step("func.func(canonicalize)", "fold casts between torch tensors and builtin tensors"),
        Step("func.func(cse)", "merge equal size computations"),
        Step(
            "torch-func-backend-type-conversion-for-stablehlo",
            "convert signatures to builtin tensors",
        ),
        Step("func.func(canonicalize)", "fold casts at function entries"),
        Step(
            "func.func(torch-finalizing-backend-type-conversion-for-stablehlo)",
            "finalize type conversion; fails if an operator has no lowering",
        ),
        Step("torch-verify-stablehlo-backend-contract", "verify that no torch operator is left"),
        Step(
            "func.func(stablehlo-canonicalize-dynamism)",
            "replace dynamic operators with constant sizes by static ones",
            tool="unmess-opt",
        ),
        Step("func.func(canonicalize)", "fold sizes"),
        Step(
            "stablehlo-refine-sizes",
            "propagate static sizes from operands to results, in each entry function",
            refine_sizes,
        ),
        Step("func.func(canonicalize)", "fold casts to the previous sizes"),
        Step(
            "func.func(stablehlo-canonicalize-dynamism)",
            "replace dynamic operators whose sizes have become constant",
            tool="unmess-opt",
        ),
        Step("func.func(canonicalize)", "canonicalize again"),
        Step(
            "func.func(stablehlo-legalize-deprecated-ops{fail-on-unused=false})",
            "replace deprecated StableHLO operators",
        ),
        Step("canonicalize", "remove unused operations"),
        Step(
            "stablehlo-strict-sizes",
            "state on each broadcast which dynamic sizes it does not expand",
            annotate_broadcasts,
        ),
    ),
)

# For each stage, the pipelines from `raw` to it, by the stage that each one reaches.
PATHS: dict[str, dict[str, Pipeline]] = {
    "raw": {},
    "torch": {"torch": TORCH},
    "linalg": {"torch": TORCH, "linalg": LINALG},
    "tosa": {"torch": TORCH, "tosa": TOSA},
    "stablehlo": {"torch": TORCH, "stablehlo": STABLEHLO},
}
