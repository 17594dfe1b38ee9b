"""Runs the cells of a matrix that have no result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from unmess.core.processes.workers import Parent
from unmess.environment.versions import versions
from unmess.isolated import Options, check_together
from unmess.isolated.options import Place
from unmess.matrix.cells import Cell
from unmess.matrix.folder import MatrixFolder, Results
from unmess.row import Row

AGAIN = ("failed", "all")


def missing_cells(cells: Iterable[Cell], results: Results, again: str | None) -> list[Cell]:
    """Returns the cells to run.

    Args:
        again: `failed` or `all`: also run these cells if they have a result.
    """
    return [
        cell
        for cell in cells
        if (row := results.get(cell)) is None
        or again == "all"
        or (again == "failed" and not row.ok)
    ]


def run_cells(
    parent: Parent,
    cells: Iterable[Cell],
    options: Options,
    jobs: int,
    folder: MatrixFolder,
    *,
    on_stage: Callable[[str, str, str | None], None],
    on_output: Callable[[str], None],
) -> Iterator[Row]:
    """Runs cells, adds each row to the folder when it is finished, and yields it.

    The cells of a model run in one worker, which captures the model once.

    Args:
        options, jobs, on_stage, on_output: as for `check_together`.
    """
    places: dict[str, list[Place]] = {}
    for cell in cells:
        places.setdefault(cell.model, []).append((cell.runner, cell.via))
    options = replace(options, list_operators=True)
    found = versions()
    for row in check_together(
        *(parent, places.items(), options, jobs), on_stage=on_stage, on_output=on_output
    ):
        row.versions = found
        row.finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        yield folder.add(row)
