"""The changes to a program on a recipe page, with their reasons."""

from __future__ import annotations

from dataclasses import dataclass

from importers.repair_list import ListedRepair, recorded_repairs
from unmess.core.program.note import Note
from unmess.recipe_page.facts import Facts
from unmess.upstream_issues import issues_by_affected

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
