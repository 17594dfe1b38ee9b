"""Edits the pipelines of a path between stages before they run."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.pipeline import Pipeline
from pipelines.user_passes import UserPass, as_step
from unmess.core.errors.error import Error
from unmess.core.errors.stages import STAGES
from unmess.core.options.names import did_you_mean

_HINT = "check your pass (--insert-pass, insert_passes)"
# The index of a place before all steps of a path.
_BEFORE_ALL = -1


def inserted_pipeline_name(stage: str) -> str:
    """Returns the name of the pipeline with the user's passes on IR at a stage."""
    return f"{stage}-inserted"


@dataclass(frozen=True)
class _Place:
    """The place after the step at `index` of the pipeline at `position` of a path."""

    position: int
    index: int


def inserted(
    path: Sequence[Pipeline], start: str, passes: Iterable[tuple[str, UserPass]]
) -> list[Pipeline]:
    """Returns the path with the user's passes inserted.

    Args:
        start: the stage that the path starts from.
        passes: pairs of a place and a pass (see `as_step`) to insert after it. A place is a stage,
            the name of a pass (the first of that name), or `PASS:N` for the N-th. Passes at the
            same place run in the order given.

    Raises:
        Error: stage `usage`, for an unknown place or pass.
    """
    edited = list(path)
    # The number of passes inserted so far after each place.
    before: dict[str, int] = {}
    for after, own in passes:
        step = as_step(own, tuple(_names(path)))
        place = _find(edited, start, after)
        if place.index == _BEFORE_ALL:
            edited = _prepend(edited, start, step)
            continue
        if place.index + 1 == len(edited[place.position].steps) and after in _stages(path):
            edited = _append(edited, place.position, step)
            continue
        index = place.index + 1 + before.get(after, 0)
        before[after] = before.get(after, 0) + 1
        pipeline = edited[place.position]
        steps = (*pipeline.steps[:index], step, *pipeline.steps[index:])
        edited[place.position] = replace(pipeline, steps=steps)
    return edited


def _append(path: list[Pipeline], position: int, step) -> list[Pipeline]:
    """Adds a step after the end of a stage, in a pipeline of its own."""
    last = path[position]
    name = inserted_pipeline_name(last.stage)
    if last.name == name:
        path[position] = replace(last, steps=(*last.steps, step))
        return path
    own = Pipeline(name, last.stage, _HINT, (step,))
    return [*path[: position + 1], own, *path[position + 1 :]]


def _prepend(path: list[Pipeline], start: str, step) -> list[Pipeline]:
    """Adds a step before the first stage, in a pipeline of its own."""
    first, name = path[0], inserted_pipeline_name(start)
    if first.name == name:
        return [replace(first, steps=(*first.steps, step)), *path[1:]]
    return [Pipeline(name, start if start in STAGES else first.stage, _HINT, (step,)), *path]


def without(pipeline: Pipeline, names: Container[str]) -> Pipeline:
    """Returns the pipeline without the steps of these names."""
    return replace(pipeline, steps=tuple(s for s in pipeline.steps if s.name not in names))


def stopped(path: Sequence[Pipeline], start: str, after: str) -> list[Pipeline]:
    """Returns the path up to a stage or a pass, named as for `inserted`.

    Raises:
        Error: stage `usage`, if the path has no such stage or pass.
    """
    place = _find(path, start, after)
    if place.index == _BEFORE_ALL:
        return [part for part in path[:1] if part.name == inserted_pipeline_name(start)]
    last = path[place.position]
    steps = last.steps[: place.index + 1]
    return [*path[: place.position], replace(last, steps=steps)]


def _find(path: Sequence[Pipeline], start: str, name: str) -> _Place:
    if path and name == start:
        return _Place(0, _BEFORE_ALL)
    ends = [position for position, pipeline in enumerate(path) if pipeline.stage == name]
    if ends:
        return _Place(ends[-1], len(path[ends[-1]].steps) - 1)
    wanted, _, number = name.partition(":")
    places = [
        _Place(position, index)
        for position, pipeline in enumerate(path)
        for index, step in enumerate(pipeline.steps)
        if step.name == wanted
    ]
    if number and not (number.isdecimal() and 0 < int(number) <= len(places)) and places:
        raise Error(
            "usage",
            f"there is no step {name} between {start} and {path[-1].stage}",
            hint=f"{wanted} occurs {'once' if len(places) == 1 else f'{len(places)} times'}",
        )
    if not places:
        names = _names(path)
        raise Error(
            "usage",
            f"there is no step {name} between {start} and {path[-1].stage if path else start}",
            hint=did_you_mean(wanted, names, "run `unmess pipeline` to list the steps"),
        )
    return places[int(number) - 1 if number else 0]


def _stages(path: Sequence[Pipeline]) -> list[str]:
    return list(dict.fromkeys(pipeline.stage for pipeline in path))


def _names(path: Sequence[Pipeline]) -> list[str]:
    """Returns the names of the stages and steps of a path."""
    steps = [step.name for pipeline in path for step in pipeline.steps]
    return list(dict.fromkeys((*_stages(path), *steps)))
