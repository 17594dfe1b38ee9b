"""Failures on a recipe page: those with the same stage and cause are listed once."""

from __future__ import annotations

from dataclasses import dataclass, field

from unmess.core.errors.error import Error
from unmess.recipe_page.commands import command, failure_commands
from unmess.recipe_page.facts import Facts
from unmess.row import Row
from unmess.triage.failure import Failure as Identity
from unmess.triage.known_limits import matching_limit


@dataclass
class Failure:
    """Why the model stops, and where.

    Attributes:
        stage, cause, where, hint: as in `unmess.Error`.
        source: the text of the line `where`, if it is the model's own code.
        places: the stages of the IR and the runners that stop with it.
        known: the recorded limit with the same stage and cause, or None.
        commands: the command that repeats it; for a check, also the one that reduces it.
    """

    stage: str
    cause: str
    where: str | None
    hint: str | None
    source: str | None = None
    places: list[str] = field(default_factory=list)
    known: str | None = None
    commands: tuple[str, ...] = ()


def failures(facts: Facts) -> list[Failure]:
    """Returns the failures of the stages and of the rows, in their order."""
    found: dict[tuple[str, str], Failure] = {}

    def add(error: Error, source: str | None, place: str) -> Failure:
        key = (error.stage, error.cause)
        if key not in found:
            found[key] = Failure(error.stage, error.cause, error.where, error.hint, source)
        found[key].places.append(place)
        return found[key]

    for stage in facts.stages:
        if stage.error is not None:
            failure = add(stage.error, stage.source, f"the IR at {stage.stage}")
            if not failure.commands:
                line = command("import", facts.model, facts.options, "--to", stage.stage)
                failure.commands = (line,)
    for row in facts.rows:
        if row.ok:
            continue
        failure = add(_error(row), row.source, row.place)
        # The commands of the first check say more than `unmess import`.
        if len(failure.commands) < 2 and row.stage not in ("usage", "source"):
            failure.commands = failure_commands(facts, row)
            failure.known = _known(facts, row)
    return list(found.values())


def _known(facts: Facts, row: Row) -> str | None:
    match = matching_limit(Identity.of(row), row.runner, facts.model)
    if match is None or match.of != facts.model:
        return match and str(match)
    link = f" ({match.limit.link})" if match.limit.link else ""
    return f"recorded for this model{link}"


def _error(row: Row) -> Error:
    return Error(row.stage, row.error or "the result differs", where=row.where, hint=row.hint)
