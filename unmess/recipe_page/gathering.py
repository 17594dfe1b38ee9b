"""Gathers the facts on a recipe page."""

from __future__ import annotations

import itertools
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from importers.recipes import list_recipes
from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.core.processes.workers import Parent
from unmess.isolated import Options, check_isolated
from unmess.isolated.options import Place
from unmess.matrix.folder import Results
from unmess.recipe_page.facts import Facts, ProgramFacts, StageFacts
from unmess.recipe_page.work import Begun, describe
from unmess.row import Row

# The dimensions that are tried if the user declares none: the first one of every tensor.
DYNAMIC = "*.0=batch"


def gather(
    parent: Parent,
    model: str,
    options: Options,
    places: Sequence[Place],
    *,
    arguments: Sequence[str] = (),
    rows: Sequence[Row] | None = None,
    folder: Path | None = None,
    on_stage: Callable[[str, str | None], None],
    on_output: Callable[[str], None],
) -> Facts:
    """Captures a model, lowers it to each stage, and checks it at places.

    Everything runs in workers. Without dynamic dimensions in `options`, the first dimension of
    every tensor is tried as one.

    Args:
        parent: starts the workers; `libraries_of` returns the modules for it.
        places: runners, each with an output dialect; None for the runner's default. For IR from a
            file, output dialects that it cannot be lowered to are left out.
        arguments: as in Facts.
        rows: results from before. The model is then not checked, and `places` are not used.
        folder: where `rows` come from.
        on_stage: called with each stage that begins, and the runner that it is for, if any.
        on_output: called with each line that a worker prints.

    Raises:
        Error: stage `usage` or `source`, if there is no such model, or the options do not fit it.
            A model with a recipe that is known not to be built gets a page.
    """
    recipe = next((each for each in list_recipes() if each.model == model), None)
    found = described(
        parent,
        model,
        options,
        on_stage=lambda stage: on_stage(stage, None),
        on_output=on_output,
    )
    error = found.error
    is_known = recipe is not None and recipe.not_built is not None
    if error is not None and error.stage in ("usage", "source") and not is_known:
        raise error
    facts = Facts(
        model,
        options,
        tuple(arguments),
        task=None if recipe is None else recipe.task,
        program=found.program,
        stages=tuple(found.stages),
        limits=() if recipe is None else recipe.stops,
    )
    if rows is not None:
        return replace(facts, rows=tuple(rows), folder=str(folder))
    if error is not None:
        failed = [Row.failed(model, runner, error, via=via) for runner, via in places]
        return replace(facts, rows=tuple(failed))

    def check(options: Options, places: Sequence[Place]) -> tuple[Row, ...]:
        return tuple(
            check_isolated(parent, model, places, options, on_stage=on_stage, on_output=on_output)
        )

    if not found.program.is_captured:
        reached = [stage.stage for stage in found.stages]
        places = [place for place in places if place[1] in (None, *reached)] or places
    facts = replace(facts, rows=check(options, places))
    working = [row.runner for row in facts.rows if row.ok]
    if not working or not _can_be_dynamic(facts):
        return facts
    dynamic = [(runner, None) for runner in dict.fromkeys(working)]
    tried = check(replace(options, dynamic=(DYNAMIC,)), dynamic)
    if all(row.stage == "usage" for row in tried):
        # Models of this kind do not take dynamic dimensions: a saved ExportedProgram, for instance.
        return facts
    return replace(facts, dynamic=DYNAMIC, tried=tried)


def _can_be_dynamic(facts: Facts) -> bool:
    """Whether a further dimension of the inputs can be declared dynamic."""
    program = facts.program
    return (
        program.is_captured
        and program.is_static
        and len(program.entries) == 1
        and bool(program.input_shapes)
        and not facts.options.dynamic
    )


def rows_of(
    model: str,
    results: Results,
    folder: Path,
    runners: Sequence[str],
    dialects: Sequence[str | None],
) -> list[Row]:
    """Returns the rows of a model in a matrix.

    Args:
        runners, dialects: the rows to return; empty for all.

    Raises:
        Error: stage `usage`; there are none.
    """
    found = [
        row
        for cell, row in results.items()
        if cell.model == model
        and (not runners or cell.runner in runners)
        and (not dialects or cell.via in dialects)
    ]
    if not found:
        raise Error(
            "usage",
            f"{folder} has no results of {model}",
            hint=f"run `{shlex.join(['unmess', 'matrix', '--models', model, '-o', str(folder)])}`, "
            "or omit --results",
        )
    return found


def places_of(runners: Sequence[str], dialects: Sequence[str | None]) -> list[Place]:
    """Returns each runner with each output dialect, in the order of the dialects."""
    return [(runner, via) for via, runner in itertools.product(dialects, runners)]


@dataclass
class Described:
    """A captured program at each stage.

    Attributes:
        program: None if the capture failed.
        error: why it failed, or None.
        stages: one for each stage that the program can be lowered to. IR from a file cannot be
            lowered to the stages before its own.
    """

    program: ProgramFacts | None = None
    error: Error | None = None
    stages: list[StageFacts] = field(default_factory=list)


def described(
    parent: Parent,
    model: str,
    options: Options,
    *,
    on_stage: Callable[[str], None],
    on_output: Callable[[str], None],
) -> Described:
    """Captures a model and lowers it to each stage.

    If a worker dies, another one captures the model again and continues with the next stage.

    Args:
        options: those of the capture, and `timeout`, the limit for the capture and for each stage.
        on_stage: called with each stage that begins.
        on_output: called with each line that a worker prints.
    """
    found = Described()
    remaining = list(IR_STAGES)
    while remaining:
        stage = "source"
        with parent.start(describe, model, options, tuple(remaining)) as worker:
            worker.allow(options.timeout)
            for message in worker.messages(on_output):
                if isinstance(message, Begun):
                    stage = message.stage
                    on_stage(stage)
                    continue
                worker.allow(options.timeout)
                if isinstance(message, Error):
                    found.error = message
                    return found
                if isinstance(message, ProgramFacts):
                    found.program = message
                    continue
                remaining.remove(message.stage)
                _add(found, message)
        if worker.death is None:
            break
        error = Error(stage, f"{worker.death} in stage {stage}", hint=worker.hint)
        if found.program is None or stage in ("source", "capture"):
            # A later worker may fail to capture a model that was captured before.
            found.error = error
            break
        _add(found, StageFacts(remaining.pop(0), error))
    return found


def _add(found: Described, facts: StageFacts) -> None:
    is_before = facts.error is not None and facts.error.stage == "usage"
    if found.program.is_captured or not is_before:
        found.stages.append(facts)
