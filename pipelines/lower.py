"""Takes a module from its stage to a later one."""

from __future__ import annotations

import time

from pipelines import custom_operators
from pipelines.nan_order import order_nan
from pipelines.pipeline import Pipeline
from pipelines.stablehlo_convolution import to_canonical_layout
from pipelines.stablehlo_sizes import functions_with_strict_sizes, say_what_keeps_its_size
from pipelines.stages import PATHS, TO_LINALG
from pipelines.tosa_precision import has_f64, narrow_f64
from pipelines.tosa_profile import keep_to_profile
from pipelines.upstream.lowering import lower_to_upstream
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.names import check_stage, check_upstream_only
from unmess.core.progress import enter_stage


def lower(module: Module, to: str, upstream_only: bool = False) -> Module:
    """Lowers `module` in place to the stage `to`, and returns it.

    One at `tosa` or `stablehlo` is lowered to `linalg`, as it is to be run.

    Args:
        upstream_only: at `linalg`, rewrite what upstream MLIR does not know.

    Raises:
        Error: stage `usage` where `to` is unknown or not after the module's stage; else the stage
            that failed, with a reproducer.
    """
    check_stage(to)
    check_upstream_only(to, upstream_only)
    start = time.perf_counter()
    # Known where the program is as it was imported; later, f64 may be its own.
    is_without_f64 = to == "tosa" and module.stage == "raw" and not has_f64(module.ir)
    for stage, pipeline in _path(module.stage, to).items():
        enter_stage(stage)
        if stage == "torch":
            with custom_operators.set_aside(module.ir):
                pipeline.apply(module.ir, module.name)
        else:
            custom_operators.refuse(module.ir, stage)
            strict = functions_with_strict_sizes(module.ir)
            if pipeline is TO_LINALG["stablehlo"]:
                to_canonical_layout(module.ir)
            pipeline.apply(module.ir, module.name)
            if stage == "tosa":
                if is_without_f64:
                    narrow_f64(module.ir)
                keep_to_profile(module.ir)
            if stage == "stablehlo":
                say_what_keeps_its_size(module.ir, strict)
        if stage == "linalg":
            order_nan(module.ir)
        module.stage = stage
    if upstream_only:
        lower_to_upstream(module.ir, module.name)
    module.seconds["lower"] = module.seconds.get("lower", 0.0) + time.perf_counter() - start
    return module


def _path(stage: str, to: str) -> dict[str, Pipeline]:
    """The pipelines from `stage` to `to`, by the stage that each one reaches."""
    if to == "linalg" and stage in TO_LINALG:
        return {to: TO_LINALG[stage]}
    reached = ["raw", *PATHS[to]]
    if stage not in reached:
        raise Error(
            "usage",
            f"a module at stage {stage} cannot be lowered to {to}",
            hint="start from the model, or from an earlier stage",
        )
    done = reached.index(stage)
    return dict(list(PATHS[to].items())[done:])
