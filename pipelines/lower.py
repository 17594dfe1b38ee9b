"""Takes a module from its stage to a later one."""

from __future__ import annotations

import time

from pipelines import custom_operators
from pipelines.nan_order import order_nan
from pipelines.pipeline import Pipeline
from pipelines.stages import PATHS
from pipelines.upstream.lowering import lower_to_upstream
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.names import check_stage, check_upstream_only
from unmess.core.progress import enter_stage


def lower(module: Module, to: str, upstream_only: bool = False) -> Module:
    """Lowers `module` in place to the stage `to`, and returns it.

    Args:
        upstream_only: at `linalg`, rewrite what upstream MLIR does not know.

    Raises:
        Error: stage `usage` where `to` is unknown or not after the module's stage; else the stage
            that failed, with a reproducer.
    """
    check_stage(to)
    check_upstream_only(to, upstream_only)
    start = time.perf_counter()
    for stage, pipeline in _path(module.stage, to).items():
        enter_stage(stage)
        if stage == "torch":
            with custom_operators.set_aside(module.ir):
                pipeline.apply(module.ir, module.name)
        else:
            custom_operators.refuse(module.ir, stage)
            pipeline.apply(module.ir, module.name)
        if stage == "linalg":
            order_nan(module.ir)
        module.stage = stage
    if upstream_only:
        lower_to_upstream(module.ir, module.name)
    module.seconds["lower"] = module.seconds.get("lower", 0.0) + time.perf_counter() - start
    return module


def _path(stage: str, to: str) -> dict[str, Pipeline]:
    """The pipelines from `stage` to `to`, by the stage that each one reaches."""
    reached = ["raw", *PATHS[to]]
    if stage not in reached:
        raise Error(
            "usage",
            f"a module at stage {stage} cannot be lowered to {to}",
            hint="start from the model, or from an earlier stage",
        )
    done = reached.index(stage)
    return dict(list(PATHS[to].items())[done:])
