"""Takes a module from its stage to a later one."""

from __future__ import annotations

import time
from collections.abc import Container, Iterable

from pipelines import custom_operators
from pipelines.editing import inserted, stopped, without
from pipelines.own_passes import OwnPass
from pipelines.pipeline import Pipeline
from pipelines.stages import NARROW_F64, PATHS, TO_LINALG
from pipelines.tosa_precision import has_f64
from pipelines.upstream.lowering import lower_to_upstream
from unmess.core.error import Error
from unmess.core.module import Module
from unmess.core.names import check_stage, check_upstream_only
from unmess.core.progress import enter_stage


def lower(
    module: Module,
    to: str,
    insert_passes: Iterable[tuple[str, OwnPass]] = (),
    stop_after: str | None = None,
    upstream_only: bool = False,
) -> Module:
    """Lowers `module` in place to the stage `to`, and returns it.

    One at `tosa` or `stablehlo` is lowered to `linalg`, as it is to be run.

    Args:
        insert_passes: the user's own, see `pipelines.editing.inserted`.
        stop_after: the stage or pass that is the last one.
        upstream_only: at `linalg`, rewrite what upstream MLIR does not know.

    Raises:
        Error: stage `usage` where `to` is unknown or not after the module's stage, or a pass is;
            else the stage that failed, with a reproducer.
    """
    check_upstream_only(to, upstream_only)
    start = time.perf_counter()
    # Known where the program is as it was imported; later, f64 may be its own.
    is_without_f64 = to == "tosa" and module.stage == "raw" and not has_f64(module.ir)
    skipped = () if is_without_f64 else (NARROW_F64.name,)
    for pipeline, reached in plan(module.stage, to, insert_passes, stop_after, skipped):
        enter_stage(pipeline.stage)
        if pipeline.name == "torch":
            with custom_operators.set_aside(module.ir):
                pipeline.apply(module.ir, module.name)
        else:
            if pipeline.stage != "torch":
                custom_operators.refuse(module.ir, pipeline.stage)
            pipeline.apply(module.ir, module.name)
        module.stage = reached
    if upstream_only and module.stage == to:
        lower_to_upstream(module.ir, module.name)
    module.seconds["lower"] = module.seconds.get("lower", 0.0) + time.perf_counter() - start
    return module


def plan(
    stage: str,
    to: str,
    insert_passes: Iterable[tuple[str, OwnPass]] = (),
    stop_after: str | None = None,
    skipped: Container[str] = (),
) -> list[tuple[Pipeline, str]]:
    """The pipelines that `lower` runs, each with the stage that a module is at after it.

    Args:
        skipped: names of steps that the module does not need.

    Raises:
        Error: stage `usage`.
    """
    check_stage(to)
    whole = inserted(_path(stage, to), stage, insert_passes)
    path = whole if stop_after is None else stopped(whole, stage, stop_after)
    path = [without(pipeline, skipped) for pipeline in path]
    whole = [without(pipeline, skipped) for pipeline in whole]
    return [
        (part, part.stage if part.steps == all_.steps else f"after {part.steps[-1].name}")
        for part, all_ in zip(path, whole, strict=False)
    ]


def _path(stage: str, to: str) -> list[Pipeline]:
    """The pipelines from `stage` to `to`."""
    if to == "linalg" and stage in TO_LINALG:
        return [TO_LINALG[stage]]
    reached = ["raw", *PATHS[to]]
    if stage not in reached:
        raise Error(
            "usage",
            f"a module at stage {stage} cannot be lowered to {to}",
            hint="start from the model, or from an earlier stage",
        )
    return list(PATHS[to].values())[reached.index(stage) :]
