"""Pipeline steps that prepare StableHLO of other tools for the other pipelines."""

from __future__ import annotations

from pipelines.output_dialects.to_scf import to_scf
from pipelines.pipeline import Step
from pipelines.stablehlo.bodies import rewrite_scalar_tensors
from pipelines.stablehlo.casts import preserve_special_values, saturate_casts
from pipelines.stablehlo.convolutions import lower_dynamic_convolutions
from pipelines.stablehlo.custom_calls import resolve_custom_calls
from pipelines.stablehlo.dynamic import lower_dynamic_sizes
from pipelines.stablehlo.fourier import lower_fourier_transforms
from pipelines.stablehlo.reductions import lower_trivial_reductions
from pipelines.stablehlo.scatter import scatters_to_loops
from pipelines.stablehlo.sort import sorts_to_tm_tensor
from pipelines.stablehlo.windows import lower_dynamic_windows

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
    resolve_custom_calls,
)
DYNAMIC = Step(
    "stablehlo-dynamic-sizes",
    "lower gathers and operations with dynamic sizes to linalg, in programs of other tools",
    lower_dynamic_sizes,
)
FOURIER = Step(
    "stablehlo-fourier",
    "lower Fourier transforms to matrix products; the upstream pass does not lower them",
    lower_fourier_transforms,
)
REDUCTIONS = Step(
    "stablehlo-trivial-reductions",
    "rewrite reductions of no axis or no element, which the upstream pass does not lower",
    lower_trivial_reductions,
)
WINDOWS = Step(
    "stablehlo-dynamic-windows",
    "lower reductions over windows with dynamic sizes, which the upstream pass does not lower",
    lower_dynamic_windows,
)
CONVOLUTIONS = Step(
    "stablehlo-dynamic-convolutions",
    "lower convolutions with groups or dynamic images, which the upstream pass does not lower",
    lower_dynamic_convolutions,
)
SORTS = Step("stablehlo-sorts", "lower sorts to tm_tensor.sort", sorts_to_tm_tensor)
SCATTERS = Step("stablehlo-scatters", "lower scatters to loops over the updates", scatters_to_loops)
CONTROL_FLOW = Step("control-flow-to-scf", "lower loops and branches to scf", to_scf)
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
    FOURIER,
    DYNAMIC,
    REDUCTIONS,
    WINDOWS,
    SORTS,
    SCATTERS,
    CONTROL_FLOW,
)
