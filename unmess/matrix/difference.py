"""Compares two matrices: improvements and regressions."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from unmess.matrix.cells import Cell
from unmess.matrix.folder import Results
from unmess.matrix.summary import state
from unmess.row import Row

# The stages in the order in which a check goes through them: TOSA and StableHLO become linalg.
_ORDER = (
    *("usage", "source", "capture", "import", "torch", "tosa", "stablehlo", "linalg"),
    *("compile", "load", "run", "compare", "done"),
)
# Smaller errors are rounding of float32. Changes below it are no difference.
_SMALLEST_ERROR = 1e-7


@dataclass(frozen=True)
class Change:
    """A cell whose result changed.

    Attributes:
        before, after: the stage where it stopped with its cause, or the relative error.
        worse: it stops earlier, or its error grew; otherwise it got better.
    """

    cell: Cell
    before: str
    after: str
    worse: bool


@dataclass(frozen=True)
class Difference:
    """The differences between two matrices.

    Attributes:
        changes: the cells in both that got better or worse.
        removed, added: the cells in the first one only, and in the second one only.
        times: by column, the median of the new running time divided by the old one.
    """

    changes: list[Change]
    removed: list[Cell]
    added: list[Cell]
    times: dict[str, float]

    @property
    def worse(self) -> list[Change]:
        """The regressions."""
        return [change for change in self.changes if change.worse]

    @property
    def better(self) -> list[Change]:
        """The improvements."""
        return [change for change in self.changes if not change.worse]


def difference(old: Results, new: Results, factor: float) -> Difference:
    """Compares the cells that are in both matrices.

    Args:
        factor: a relative error that grows or shrinks by more than this factor is a change.
    """
    changes = [
        change
        for cell, row in old.items()
        if cell in new and (change := _change(cell, row, new[cell], factor))
    ]
    return Difference(
        changes,
        [cell for cell in old if cell not in new],
        [cell for cell in new if cell not in old],
        dict(_times(old, new)),
    )


def _change(cell: Cell, old: Row, new: Row, factor: float) -> Change | None:
    if old.stage != new.stage:
        worse = _ORDER.index(new.stage) < _ORDER.index(old.stage)
        return Change(cell, state(old), state(new), worse)
    if not old.ok:
        return None
    growth = _error(new) / _error(old)
    if 1 / factor <= growth <= factor:
        return None
    return Change(cell, state(old), state(new), worse=growth > 1)


def _error(row: Row) -> float:
    return max(row.max_rel_error or 0.0, _SMALLEST_ERROR)


def _times(old: Results, new: Results) -> Iterable[tuple[str, float]]:
    ratios: dict[str, list[float]] = {}
    for cell, row in new.items():
        before = old[cell].seconds.get("run") if cell in old else None
        after = row.seconds.get("run")
        if before and after:
            ratios.setdefault(cell.column, []).append(after / before)
    return ((column, statistics.median(found)) for column, found in ratios.items())
