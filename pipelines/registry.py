"""All pipelines and steps in Python of the project by name, for `unmess-opt`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from torch_mlir import ir

from pipelines import stages
from pipelines.debugging import step
from pipelines.indices.checking import check_indices
from pipelines.indices.divisions import check_divisions
from pipelines.indices.stablehlo import check_stablehlo_indices
from pipelines.ir.modules import entry_function
from pipelines.iree.assertions import join_assertions, spell_lines
from pipelines.iree.channels_last import to_channels_last
from pipelines.iree.cropping import crop_to_windows
from pipelines.iree.elementary.rewrite import compute_elementary_functions
from pipelines.iree.packed_operands import separate_packing
from pipelines.iree.stablehlo_input import STABLEHLO_INPUT
from pipelines.iree.updates import keep_inputs
from pipelines.linalg_form.operations import GENERALIZE, SPECIALIZE
from pipelines.linalg_form.sizes import PROPAGATE
from pipelines.pipeline import Pipeline, Rewrite
from pipelines.reference import lowering
from pipelines.reference.pipeline import lower_to_llvm
from pipelines.reference.schedules.machine import MACHINES
from pipelines.reference.steps.assertions import Assertions
from pipelines.reference.steps.bf16 import compute_in_f32, keep_in_integers
from pipelines.reference.steps.checks import insert_checks
from pipelines.reference.steps.collapsing import collapse_loops
from pipelines.reference.steps.entry_points import take_operands_by_address
from pipelines.reference.steps.float8 import expand_float8_casts
from pipelines.reference.steps.fusion import fuse
from pipelines.reference.steps.kernels import vectorize
from pipelines.reference.steps.lifetimes import free_after_last_use
from pipelines.reference.steps.llvm_attributes import annotate
from pipelines.reference.steps.narrowing import narrow_through_f32
from pipelines.reference.steps.outlining import outline
from pipelines.reference.steps.pointers import pass_pointers
from pipelines.reference.steps.reassociation import reassociate
from pipelines.reference.steps.rows import fuse_row_loops
from pipelines.reference.steps.splitting import split
from pipelines.reference.steps.tasks import dispatch, outline_tasks
from pipelines.stablehlo import stages as stablehlo
from pipelines.stablehlo.portable import PORTABLE
from pipelines.upstream.lowering import UPSTREAM
from unmess.core.ir.public_functions import public_functions

PIPELINES: dict[str, Pipeline] = {
    pipeline.name: pipeline
    for pipeline in (
        stages.TORCH,
        stages.LINALG,
        stages.TOSA,
        stages.STABLEHLO,
        stages.TOSA_TO_LINALG,
        stages.STABLEHLO_TO_LINALG,
        STABLEHLO_INPUT,
        stablehlo.FOREIGN_INPUT,
        PORTABLE,
        PROPAGATE,
        GENERALIZE,
        SPECIALIZE,
        UPSTREAM,
        lowering.PREPARE,
        lowering.BUFFERIZE,
        lowering.LLVM,
    )
}


@step("iree-keep-inputs")
def _keep_inputs(module: ir.Module) -> None:
    """Applies `keep_inputs` to all public functions. Barriers are in generic form."""
    module.context.allow_unregistered_dialects = True
    with module.context, ir.Location.unknown():
        for name in public_functions(module):
            function = entry_function(module, name)
            is_state = ["unmess.state" in attributes for attributes in function.arg_attrs]
            keep_inputs(function, is_state)


def _separate_packing(module: ir.Module) -> None:
    """Applies `separate_packing`. Barriers are in generic form."""
    module.context.allow_unregistered_dialects = True
    separate_packing(module)


_REWRITES = (
    stages.BITS,
    stages.NAN_ORDER,
    stages.NARROW_F64,
    stages.PROFILE,
    stages.SEED,
    stages.LAYOUT,
    stages.RESHAPES,
    stages.VALUE_CHECKS,
    stages.BOOLEAN_SUMS,
    stages.SIZES,
    stages.RANDOM,
    stages.INTEGERS,
    stages.CASTS,
    stages.OPERATORS,
    *stablehlo.REWRITES,
    *(step for step in (*UPSTREAM.steps, *PORTABLE.steps) if isinstance(step, Rewrite)),
)

# Functions that change a module in place, by name.
FUNCTIONS: dict[str, Callable[[ir.Module], object]] = {
    **{rewrite.name: step(rewrite.name)(rewrite.function) for rewrite in _REWRITES},
    "reference-unaliased": lowering.mark_unaliased,
    "reference-read-where-used": lowering.sink_views,
    "reference-protect": lowering.protect_arguments,
    "reference-fuse": lambda module: fuse(module, "module"),
    "reference-join-rows": fuse_row_loops,
    "reference-collapse": collapse_loops,
    "reference-checks": insert_checks,
    "reference-split-2": partial(split, threads=2),
    "reference-outline": outline,
    "reference-lifetimes": free_after_last_use,
    "reference-outline-tasks": outline_tasks,
    "reference-reassociate": reassociate,
    "reference-narrow": narrow_through_f32,
    "reference-expand-float8": expand_float8_casts,
    **{
        f"reference-vectorize-{name}": partial(vectorize, machine=machine, deserves=lambda _: True)
        for name, machine in MACHINES.items()
    },
    "reference-bf16-arithmetic": compute_in_f32,
    "reference-bf16-bits": keep_in_integers,
    "reference-pointers": pass_pointers,
    "reference-entries": lambda module: take_operands_by_address(module, public_functions(module)),
    "reference-dispatch": dispatch,
    "reference-annotate": annotate,
    "check-divisions": check_divisions,
    "check-indices": check_indices,
    "check-stablehlo-indices": check_stablehlo_indices,
    "iree-assertions": join_assertions,
    "iree-assertion-lines": spell_lines,
    "iree-keep-inputs": _keep_inputs,
    "iree-elementary-functions": compute_elementary_functions,
    "iree-channels-last": step("iree-channels-last")(to_channels_last),
    "iree-cut-to-reach": crop_to_windows,
    "iree-separate-packing": _separate_packing,
    "reference": lambda module: lower_to_llvm(
        module, "module", Assertions(), public_functions(module)
    ),
}
