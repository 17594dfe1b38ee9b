"""Changes to the pipelines on the way from one stage to another, before any of them runs."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from pipelines.own_passes import OwnPass, as_step
from pipelines.pipeline import Pipeline
from unmess.core.error import STAGES, Error
from unmess.core.suggest import did_you_mean

_HINT = "the pass is the user's"
# Where a path starts from IR that no stage of it has made.
_BEFORE_ALL = -1


def own_name(stage: str) -> str:
    """What the pipeline of the user's passes on IR at a stage is called."""
    return f"{stage}-inserted"


@dataclass(frozen=True)
class _Place:
    """After the step at `index` of the pipeline at `position` of a path."""

    position: int
    index: int


def inserted(
    path: Sequence[Pipeline], start: str, passes: Iterable[tuple[str, OwnPass]]
) -> list[Pipeline]:
    """The path with passes of the user in it.

    Args:
        start: the stage that the path starts from.
        passes: for each, what it comes after, and the pass (see `as_step`). That is a stage; a
            pass, of several of that name the first; or `PASS:N` for the N-th. At one place they run
            in the order given.

    Raises:
        Error: stage `usage`, for a place or a pass that there is not.
    """
    edited = list(path)
    # How many have been put after the same place before.
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
    """At the end of a stage: in a pipeline of its own, for which the stage is complete."""
    last = path[position]
    name = own_name(last.stage)
    if last.name == name:
        path[position] = replace(last, steps=(*last.steps, step))
        return path
    own = Pipeline(name, last.stage, _HINT, (step,))
    return [*path[: position + 1], own, *path[position + 1 :]]


def _prepend(path: list[Pipeline], start: str, step) -> list[Pipeline]:
    """Before the first stage: in a pipeline of its own, on IR as it is."""
    first, name = path[0], own_name(start)
    if first.name == name:
        return [replace(first, steps=(*first.steps, step)), *path[1:]]
    return [Pipeline(name, start if start in STAGES else first.stage, _HINT, (step,)), *path]


def without(pipeline: Pipeline, names: Container[str]) -> Pipeline:
    """The pipeline without the steps of these names."""
    return replace(pipeline, steps=tuple(s for s in pipeline.steps if s.name not in names))


def stopped(path: Sequence[Pipeline], start: str, after: str) -> list[Pipeline]:
    """The path up to a stage or a pass, named as for `inserted`.

    Raises:
        Error: stage `usage`, where it has no such stage or pass.
    """
    place = _find(path, start, after)
    if place.index == _BEFORE_ALL:
        return [part for part in path[:1] if part.name == own_name(start)]
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
            f"no step {name} between {start} and {path[-1].stage}",
            hint=f"{wanted} is there {'once' if len(places) == 1 else f'{len(places)} times'}",
        )
    if not places:
        names = _names(path)
        raise Error(
            "usage",
            f"no step {name} between {start} and {path[-1].stage if path else start}",
            hint=did_you_mean(wanted, names, "`unmess pipeline` prints them"),
        )
    return places[int(number) - 1 if number else 0]


def _stages(path: Sequence[Pipeline]) -> list[str]:
    return list(dict.fromkeys(pipeline.stage for pipeline in path))


def _names(path: Sequence[Pipeline]) -> list[str]:
    """Of stages and steps."""
    steps = [step.name for pipeline in path for step in pipeline.steps]
    return list(dict.fromkeys((*_stages(path), *steps)))
