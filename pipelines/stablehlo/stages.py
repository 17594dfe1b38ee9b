"""Pipeline steps that prepare StableHLO of other tools for the other pipelines."""

from __future__ import annotations

from dataclasses import replace

from torch_mlir import ir

from pipelines.output_dialects.to_scf import to_scf
from pipelines.pipeline import Pipeline, Step
from pipelines.stablehlo.bodies import rewrite_scalar_tensors
from pipelines.stablehlo.casts import preserve_special_values, saturate_casts
from pipelines.stablehlo.custom_calls import resolve_at_compile, resolve_at_linalg
from pipelines.stablehlo.dynamic import lower_dynamic_sizes
from pipelines.stablehlo.gather import clamp_gathers
from pipelines.stablehlo.scatter import scatters_to_loops
from pipelines.stablehlo.sort import sorts_to_tm_tensor

COMPOSITES = Step(
    "func.func(stablehlo-legalize-composite-to-call)", "replace composites by calls of their bodies"
)
CALLS = Step("inline", "inline calls of private functions")
UNUSED = Step("symbol-dce", "remove unused private functions")
CHLO = Step("func.func(chlo-legalize-to-stablehlo)", "lower CHLO operations to StableHLO")
CASTS = Step(
    "stablehlo-saturating-casts",
    "saturate casts of out-of-range floats to integers, in programs of other tools",
    saturate_casts,
)
CUSTOM_CALLS = Step(
    "stablehlo-custom-calls",
    "remove annotations, lower shape assertions to cf.assert, and reject other custom calls",
    resolve_at_linalg,
)
DYNAMIC = Step(
    "stablehlo-dynamic-sizes",
    "lower gathers and operations with dynamic sizes to linalg, in programs of other tools",
    lower_dynamic_sizes,
)
SORTS = Step("stablehlo-sorts", "lower sorts to tm_tensor.sort", sorts_to_tm_tensor)
SCATTERS = Step("stablehlo-scatters", "lower scatters to loops over the updates", scatters_to_loops)
CONTROL_FLOW = Step("control-flow-to-scf", "lower loops and branches to scf", to_scf)
GATHERS = Step(
    "stablehlo-clamped-gathers",
    "clamp indices of gathers, in programs of other tools; IREE does not do it",
    clamp_gathers,
)

SCALARS = Step(
    "stablehlo-scalars",
    "replace operations on 0-D tensors by operations on scalars",
    rewrite_scalar_tensors,
)
SPECIAL_VALUES = Step(
    "stablehlo-special-values",
    "keep the sign of zeros, and the cube root of infinity, in programs of other tools",
    preserve_special_values,
)

# Steps on the way to linalg, before the upstream pass.
TO_LINALG_FIRST = (
    COMPOSITES,
    CUSTOM_CALLS,
    CALLS,
    UNUSED,
    CHLO,
    CASTS,
    SPECIAL_VALUES,
    DYNAMIC,
    SORTS,
    SCATTERS,
    CONTROL_FLOW,
)

FOREIGN_INPUT = Pipeline(
    name="stablehlo-of-other-tools",
    stage="compile",
    hint="the IR is valid StableHLO, but IREE cannot compile it: try --on reference",
    steps=(
        COMPOSITES,
        replace(CUSTOM_CALLS, function=resolve_at_compile),
        CALLS,
        UNUSED,
        CHLO,
        CASTS,
        GATHERS,
        SPECIAL_VALUES,
    ),
)


def for_iree(module: ir.Module, name: str) -> None:
    """Prepares a program of another tool with static sizes for IREE's own input, in place."""
    FOREIGN_INPUT.apply(module, name)
