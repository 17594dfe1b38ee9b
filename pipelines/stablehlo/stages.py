"""Pipeline steps that prepare StableHLO of other tools for the other pipelines."""

from __future__ import annotations

from torch_mlir import ir

from pipelines.ir_modules import find_operations
from pipelines.pipeline import Pipeline, Rewrite, Step
from pipelines.stablehlo.casts import saturate_casts
from pipelines.stablehlo.control_flow import to_scf
from pipelines.stablehlo.custom_calls import resolve_at_compile, resolve_at_linalg
from pipelines.stablehlo.dynamic import lower_dynamic_sizes
from pipelines.stablehlo.indices import clamp_gathers
from pipelines.stablehlo.origin import is_foreign
from pipelines.stablehlo.scalars import compute_on_scalars
from pipelines.stablehlo.scatter import to_loops
from pipelines.stablehlo.sort import to_tm_tensor
from pipelines.stablehlo.special_values import keep_special_values
from pipelines.stablehlo.stable_sort import compare_places

COMPOSITES = Step(
    "func.func(stablehlo-legalize-composite-to-call)", "composites become calls of their bodies"
)
CALLS = Step("inline", "calls of private functions are inlined")
UNUSED = Step("symbol-dce", "private functions without a call are removed")
CHLO = Step("func.func(chlo-legalize-to-stablehlo)", "CHLO operations become StableHLO")
CASTS = Rewrite(
    "stablehlo-saturating-casts",
    "in programs of other tools, floats out of range become the nearest integer",
    saturate_casts,
)
CUSTOM_CALLS = Rewrite(
    "stablehlo-custom-calls",
    "annotations are removed, shape assertions become cf.assert, other calls are refused",
    resolve_at_linalg,
)
DYNAMIC = Rewrite(
    "stablehlo-dynamic-sizes",
    "operations of dynamic sizes, and gathers, become linalg in programs of other tools",
    lower_dynamic_sizes,
)
SORTS = Rewrite("stablehlo-sorts", "sorts become tm_tensor.sort", to_tm_tensor)
SCATTERS = Rewrite("stablehlo-scatters", "scatters become loops over the updates", to_loops)
CONTROL_FLOW = Rewrite("stablehlo-control-flow", "while, if and case become scf", to_scf)
GATHERS = Rewrite(
    "stablehlo-clamped-gathers",
    "in programs of other tools, indices of gathers are clamped; IREE does not do it",
    clamp_gathers,
)

SCALARS = Rewrite(
    "stablehlo-scalars",
    "operations on tensors that are made of scalars become operations on scalars",
    compute_on_scalars,
)
STABLE_SORTS = Rewrite(
    "stablehlo-stable-sorts",
    "in programs of other tools, stable sorts compare places, too; IREE's sort is not stable",
    compare_places,
)
SPECIAL_VALUES = Rewrite(
    "stablehlo-special-values",
    "in programs of other tools, zeros keep their sign, and infinity is its cube root",
    keep_special_values,
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
    hint="the StableHLO is valid, but it cannot be compiled here; try --on reference",
    steps=(
        COMPOSITES,
        Rewrite(CUSTOM_CALLS.name, CUSTOM_CALLS.why, resolve_at_compile),
        CALLS,
        UNUSED,
        CHLO,
        CASTS,
        GATHERS,
        STABLE_SORTS,
        SPECIAL_VALUES,
    ),
)


REWRITES = (
    CASTS,
    CUSTOM_CALLS,
    DYNAMIC,
    SORTS,
    SCATTERS,
    CONTROL_FLOW,
    GATHERS,
    SCALARS,
    STABLE_SORTS,
    SPECIAL_VALUES,
)


def for_iree(module: ir.Module, name: str) -> None:
    """Prepares a program of another tool with static sizes for IREE's own input, in place."""
    FOREIGN_INPUT.apply(module, name)


def needs_linalg(module: ir.Module) -> bool:
    """Returns whether IREE needs a program as linalg: one of another tool with dynamic sizes."""
    return is_foreign(module) and bool(find_operations(module, _is_dynamic))


def _is_dynamic(operation: ir.Operation) -> bool:
    return any(
        isinstance(each.type, ir.RankedTensorType) and not each.type.has_static_shape
        for each in operation.results
    )
