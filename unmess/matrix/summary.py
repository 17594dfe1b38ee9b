"""Rows in a few words, and counts by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from unmess.row import Row

# The result of a model without floating-point elements, and of one without any difference.
EQUAL = "equal"


@dataclass(frozen=True)
class Column:
    """The results of one runner and output dialect.

    Attributes:
        name: the runner, and the output dialect if one was chosen.
        built: the models that are built and run in eager PyTorch. Others cannot reach the later
            stages, and are not counted.
        matches: the models whose result matches eager.
        stops: the number of models by the stage where they stop, most frequent first.
    """

    name: str
    built: int
    matches: int
    stops: dict[str, int]

    def __str__(self) -> str:
        share = f" ({self.matches / self.built:.1%})" if self.built else ""
        stops = ", ".join(f"{count} in {stage}" for stage, count in self.stops.items())
        text = f"{self.name}: {self.matches} of {self.built} match eager{share}"
        return text + (f"; stopped: {stops}" if stops else "")


def columns_of(rows: Iterable[Row]) -> list[Column]:
    """Returns the columns in the order in which they occur."""
    by_place: dict[str, list[Row]] = {}
    for row in rows:
        by_place.setdefault(row.place, []).append(row)
    return [_column(place, own) for place, own in by_place.items()]


def _column(name: str, rows: list[Row]) -> Column:
    built = [row for row in rows if row.stage != "source"]
    stops = Counter(row.stage for row in built if not row.ok)
    return Column(name, len(built), sum(row.ok for row in built), dict(stops.most_common()))


def state(row: Row) -> str:
    """Returns the stage and cause of a row, or its relative error: `equal` if there is none."""
    if not row.ok:
        return f"{row.stage}: {row.error}"
    # Results without floating-point elements have no relative error.
    return EQUAL if not row.max_rel_error else f"{row.max_rel_error:.0e}"
