"""Lowers a module from its stage to a later one."""

from __future__ import annotations

import time
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass

from torch_mlir import ir

from pipelines import contract, custom_operators
from pipelines.editing import inserted, inserted_pipeline_name, stopped, without
from pipelines.legal_ops import legal_ops
from pipelines.linalg_form import LinalgForm
from pipelines.output_dialects.tosa_types import has_f64
from pipelines.pipeline import Pipeline
from pipelines.stablehlo.portable import PORTABLE
from pipelines.stages import NARROW_F64, PATHS, torch_pipeline
from pipelines.to_linalg import TO_LINALG
from pipelines.upstream.lowering import lower_to_upstream
from pipelines.user_passes import UserPass
from unmess.core.errors.error import Error
from unmess.core.ir.portable_artifact import check_version
from unmess.core.module.module import Module
from unmess.core.options.names import check_portable, check_stage, check_upstream_only
from unmess.core.processes.current_stage import enter_stage
from unmess.core.program.note import Note


@dataclass(frozen=True)
class Changes:
    """A user's changes to the pipelines.

    Attributes:
        insert_passes: the user's own passes, see `pipelines.editing.inserted`.
        stop_after: the last stage or pass to run.
        backend_legal_ops: operators that the pipeline to `torch` does not decompose, such as
            `aten.softmax.int`.
    """

    insert_passes: Iterable[tuple[str, UserPass]] = ()
    stop_after: str | None = None
    backend_legal_ops: Collection[str] = ()


def lower(
    module: Module,
    to: str,
    changes: Changes | None = None,
    form: LinalgForm | None = None,
    upstream_only: bool = False,
    portable: str | None = None,
) -> Module:
    """Lowers `module` in place to the stage `to`, and returns it.

    Modules at `tosa` or `stablehlo` can be lowered to `linalg`, to run them.

    Args:
        form: at `linalg`, the form of the IR.
        upstream_only: at `linalg`, rewrite operations that upstream MLIR does not have.
        portable: at `stablehlo`, StableHLO's version of the portable artifact to save.

    Raises:
        Error: stage `usage`, if `to` is unknown or not after the module's stage, or a name in
            `changes` is unknown; otherwise the stage that failed, with a reproducer.
    """
    form = form or LinalgForm()
    form.check(to)
    check_upstream_only(to, upstream_only)
    check_portable(to, module.weight_mode, portable)
    if portable is not None:
        check_version(portable)
    start = time.perf_counter()
    changes = changes or Changes()
    keep_ops = legal_ops(changes.backend_legal_ops)
    for pipeline, reached in plan(module.stage, to, changes, _skipped(module.ir, module.stage)):
        enter_stage(pipeline.stage)
        advance(module.ir, pipeline, module.name, keep_ops)
        module.stage = reached
    if form != LinalgForm() and module.stage == to:
        module = form.apply(module)
    if upstream_only and module.stage == to and lower_to_upstream(module.ir, module.name):
        text = "boolean inputs and results are i8 tensors in the IR, with the values 0 and 1"
        module.notes = (*module.notes, Note("upstream", text))
    if portable is not None and module.stage == to:
        PORTABLE.apply(module.ir, module.name)
        module.portable = portable
    module.seconds["lower"] = module.seconds.get("lower", 0.0) + time.perf_counter() - start
    return module


def lower_ir(module: ir.Module, to: str, name: str) -> None:
    """Lowers IR at stage `raw` to the stage `to` in place. See `lower`."""
    for pipeline, _ in plan("raw", to, Changes(), _skipped(module, "raw")):
        advance(module, pipeline, name)


def advance(
    module: ir.Module, pipeline: Pipeline, name: str, backend_legal_ops: Container[str] = ()
) -> None:
    """Runs a pipeline of `plan` on a module in place."""

    def stays(operator: str) -> bool:
        kept = operator.removeprefix("torch.") in backend_legal_ops
        return kept or custom_operators.is_custom(operator)

    if pipeline.name == "torch":
        with custom_operators.set_aside(module, stays):
            pipeline.apply(module, name)
        return
    if pipeline.stage in PATHS and pipeline.stage != "torch":
        custom_operators.refuse(module, pipeline.stage)
        contract.refuse(module, pipeline.stage)
    pipeline.apply(module, name)


def plan(
    stage: str, to: str, changes: Changes, skipped: Container[str] = ()
) -> list[tuple[Pipeline, str]]:
    """Returns the pipelines that `lower` runs, each with the stage of the module after it.

    Args:
        skipped: the names of steps that the module does not need.

    Raises:
        Error: stage `usage`.
    """
    check_stage(to)
    path = _path(stage, to, legal_ops(changes.backend_legal_ops))
    whole = inserted(path, stage, changes.insert_passes)
    path = whole if changes.stop_after is None else stopped(whole, stage, changes.stop_after)
    path = [without(pipeline, skipped) for pipeline in path]
    whole = [without(pipeline, skipped) for pipeline in whole]
    return [(part, _reached(part, all_, stage)) for part, all_ in zip(path, whole, strict=False)]


def _reached(part: Pipeline, whole: Pipeline, start: str) -> str:
    """Returns the stage of a module after `part`, which may lack steps of `whole`."""
    if part.steps != whole.steps:
        return f"after {part.steps[-1].name}"
    return start if part.name == inserted_pipeline_name(start) else part.stage


def _skipped(module: ir.Module, stage: str) -> tuple[str, ...]:
    """Returns the names of the steps to skip. After `raw`, f64 may be the program's own."""
    return (NARROW_F64.name,) if stage != "raw" or has_f64(module) else ()


def _path(stage: str, to: str, backend_legal_ops: Collection[str]) -> list[Pipeline]:
    """Returns the pipelines from `stage` to `to`."""
    if to == "linalg" and stage in TO_LINALG:
        return [TO_LINALG[stage]]
    reached = ["raw", *PATHS[to]]
    if stage not in reached:
        raise Error(
            "usage",
            f"cannot lower a module at stage {stage} to {to}",
            hint="start from the model, or from IR at an earlier stage",
        )
    pipelines = PATHS[to] | ({"torch": torch_pipeline(backend_legal_ops)} if PATHS[to] else {})
    return list(pipelines.values())[reached.index(stage) :]
