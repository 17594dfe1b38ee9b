"""Captures and lowers a model in workers, so that a crash in native code costs one stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.core.processes.workers import Parent
from unmess.isolated import Options
from unmess.recipe_page.facts import ProgramFacts, StageFacts
from unmess.recipe_page.work import Begun, describe


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
