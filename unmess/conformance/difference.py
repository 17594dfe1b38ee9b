"""Compares two reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from unmess.conformance.result import PASS, Result


@dataclass(frozen=True)
class Change:
    """A case whose status differs between two reports; None where a report lacks it."""

    name: str
    before: str | None
    after: str | None
    cause: str | None = None

    @property
    def is_regression(self) -> bool:
        """Whether the case passed before, and does not pass now."""
        return self.before == PASS and self.after not in (PASS, None)


def changes(old: Iterable[Result], new: Iterable[Result]) -> list[Change]:
    """Returns the cases whose status differs, regressions first."""
    before = {result.name: result for result in old}
    after = {result.name: result for result in new}
    found = []
    for name in dict.fromkeys((*before, *after)):
        one, other = before.get(name), after.get(name)
        statuses = (one and one.status, other and other.status)
        if statuses[0] != statuses[1]:
            found.append(Change(name, *statuses, other and other.cause))
    return sorted(found, key=lambda change: not change.is_regression)
