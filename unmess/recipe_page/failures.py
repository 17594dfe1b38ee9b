"""The failures on a recipe page, and the changes that the program needs."""

from __future__ import annotations

from dataclasses import dataclass, field

from importers.repair_list import ListedRepair, recorded_repairs
from unmess.core.errors.error import Error
from unmess.core.program.note import Note
from unmess.recipe_page.commands import command, failure_commands
from unmess.recipe_page.facts import Facts
from unmess.row import Row
from unmess.triage.failure import Failure as Identity
from unmess.triage.known_limits import matching_limit
from unmess.upstream_issues import issues_by_affected


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


# The kinds of notes on entries of `unmess repairs`.
_KINDS = ("repair", "decomposition")


@dataclass(frozen=True)
class Change:
    """A repair or a decomposition that the program needs.

    Attributes:
        listed: its entry, if it has one.
        upstream: the address of the issue of another project that makes it necessary, if any.
    """

    note: Note
    listed: ListedRepair | None
    upstream: str | None


def changes(facts: Facts) -> list[Change]:
    """Returns the repairs and decompositions of the program, in order."""
    if facts.program is None:
        return []
    entries, issues = recorded_repairs(), issues_by_affected()
    found = []
    for note in facts.program.notes:
        if note.kind in _KINDS:
            listed = next((each for each in entries if _is_about(note, each)), None)
            issue = issues.get(listed.name) if listed else None
            found.append(Change(note, listed, issue and issue.address))
    return found


def other_notes(facts: Facts) -> list[str]:
    """Returns all other notes, those of a runner after its name."""
    notes = () if facts.program is None else facts.program.notes
    shown = [str(note) for note in notes if note.kind not in _KINDS]
    known = {str(note) for note in notes}
    by_note: dict[str, list[str]] = {}
    for row in facts.rows:
        for note in row.notes:
            # The sizes have a section of their own.
            if note not in known and not note.startswith("sizes:"):
                by_note.setdefault(note, []).append(row.place)
    return shown + [f"{note} (on {', '.join(places)})" for note, places in by_note.items()]


def _is_about(note: Note, entry: ListedRepair) -> bool:
    if note.kind == "decomposition":
        return note.text in (entry.name, f"{entry.name} ({entry.mends})")
    return note.text == entry.name or note.text.startswith(f"{entry.name} (")
