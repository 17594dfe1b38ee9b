"""Runs the models that have no result, in worker processes, so that a crash costs one stage."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from importers.sources.model_string import check_model_string
from unmess.core.errors.error import Error
from unmess.core.processes.threads import in_threads
from unmess.core.processes.workers import Parent
from unmess.corpus.parts import Part, Parts
from unmess.corpus.work import Settings, failure, work


def missing_parts(
    parts: Parts, wanted: Iterable[tuple[str, str]], stages: list[str], again: str | None
) -> list[Part]:
    """Returns the parts that lack stages.

    Args:
        wanted: models, each with a variant.
        again: `failed` or `all`: begin these from the start if they have results.
    """
    found = []
    for model, variant in wanted:
        part = parts.read(model, variant)
        if again == "all" or (again == "failed" and not part.ok):
            part = Part(model, variant, part.seed, part.versions)
        if part.missing(stages):
            found.append(part)
    return found


def run_parts(
    parent: Parent,
    missing: Sequence[Part],
    parts: Parts,
    stages: list[str],
    settings: Settings,
    jobs: int,
    *,
    on_stage: Callable[[Part, str], None],
    on_output: Callable[[str], None],
) -> Iterator[Part]:
    """Completes parts, writes each when it is finished, and yields it.

    Args:
        jobs: number of models at the same time.
        on_stage: called with each stage that begins.
        on_output: called with each line that a worker prints. Both are called by other threads.
    """

    def complete(part: Part) -> Iterator[Part]:
        _complete(parent, part, stages, settings, functools.partial(on_stage, part), on_output)
        parts.write(part)
        yield part

    return in_threads(missing, complete, jobs)


def _complete(
    parent: Parent,
    part: Part,
    stages: list[str],
    settings: Settings,
    on_stage: Callable[[str], None],
    on_output: Callable[[str], None],
) -> None:
    try:
        check_model_string(part.model)
    except Error as error:
        part.failure = failure(error)
        return
    while targets := part.missing(stages):
        stage = "source"
        captured = False
        with parent.start(work, part.model, part.variant, targets, settings) as worker:
            worker.allow(settings.timeout)
            for event in worker.messages(on_output):
                if "stage" in event:
                    stage = event["stage"]
                    on_stage(stage)
                elif "facts" in event:
                    part.facts, captured = event["facts"], True
                    worker.allow(settings.timeout)
                elif "target" in event:
                    result = event.get("result") or {"failure": event["failure"]}
                    part.results[event["target"]] = result
                    worker.allow(settings.timeout)
                else:
                    part.failure = event["failure"]
        if worker.death is None:
            return
        found = failure(Error(stage, f"{worker.death} in stage {stage}"))
        if captured and (left := part.missing(stages)):
            part.results[left[0]] = {"failure": found}
        elif not captured:
            part.failure = found
