"""Formats a matrix as one HTML page with styles, script and plots inside, for use offline."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from unmess.core.errors.stages import STAGES
from unmess.matrix.cells import Cell
from unmess.matrix.folder import Results
from unmess.matrix.summary import columns_of, state
from unmess.matrix_report import plots
from unmess.matrix_report.coverage import by_family, by_operator, families
from unmess.matrix_report.details import details_of
from unmess.pages.plot import legend
from unmess.pages.rendering import render
from unmess.row import Row

_FOLDER = Path(__file__).parent
_MATCHES, _FAILS, _DIFFERS = "matches everywhere", "fails somewhere", "differs between columns"
_NOT_RUN = "not run"


@dataclass(frozen=True)
class Shown:
    """A cell of the table.

    Attributes:
        number: of its details; None if the cell was not run.
        text: its relative error, or the stage where it stops.
        order: what the column is sorted by: errors, then stages from the last to the first.
        is_ok: None if the cell was not run.
    """

    number: int | None
    text: str
    order: float
    is_ok: bool | None


@dataclass(frozen=True)
class Line:
    """A model in the table. `states` are the values that the table can be filtered by."""

    model: str
    family: str
    states: list[str]
    cells: list[Shown]


def page(results: Results, folder: Path) -> str:
    """Returns the page as HTML.

    Args:
        folder: the folder of the matrix, which has the reproducers.
    """
    rows = list(results.values())
    columns = columns_of(rows)
    names = [column.name for column in columns]
    numbers = {cell: number for number, cell in enumerate(results)}
    by_model: dict[str, dict[str, Cell]] = {}
    for cell in results:
        by_model.setdefault(cell.model, {})[cell.column] = cell
    family = families(by_model)
    lines = [
        _line(model, family[model], [own.get(name) for name in names], results, numbers)
        for model, own in by_model.items()
    ]
    return render(
        _FOLDER,
        {},
        columns=columns,
        lines=lines,
        states=_choices(lines),
        families=by_family(results, names),
        operators=by_operator(results, names),
        versions=_versions(rows),
        details=[
            {"title": f"{cell.model} on {cell.column}", "rows": details_of(cell, row, folder)}
            for cell, row in results.items()
        ],
        legend=legend(names),
        plots={
            "Errors of the results that match": plots.errors(results, names),
            "Times against eager PyTorch": plots.times(results, names),
            "Peak memory": plots.memory(results, names),
        },
    )


def _line(
    model: str,
    family: str,
    cells: list[Cell | None],
    results: Results,
    numbers: dict[Cell, int],
) -> Line:
    shown = [
        Shown(None, _NOT_RUN, -1.0, None) if cell is None else _shown(results[cell], numbers[cell])
        for cell in cells
    ]
    run = [results[cell] for cell in cells if cell is not None]
    states = [_MATCHES if all(row.ok for row in run) else _FAILS]
    if len({row.stage for row in run}) > 1:
        states.append(_DIFFERS)
    if None in cells:
        states.append(_NOT_RUN)
    states += dict.fromkeys(row.stage for row in run if not row.ok)
    return Line(model, family, states, shown)


def _shown(row: Row, number: int) -> Shown:
    if row.ok:
        return Shown(number, state(row), row.max_rel_error or 0.0, True)
    # All stages come after the largest error of a result that matches.
    order = 1e9 + len(STAGES) - STAGES.index(row.stage)
    return Shown(number, row.stage, order, False)


def _choices(lines: list[Line]) -> list[str]:
    """Returns the states that occur, in the order of the stages."""
    occurring = {state for line in lines for state in line.states}
    known = (_MATCHES, _FAILS, _DIFFERS, _NOT_RUN, *STAGES)
    return [state for state in known if state in occurring]


def _versions(rows: list[Row]) -> dict[str, str]:
    """Returns the versions of all rows, by name. Different ones are joined by commas."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, version in row.versions.items():
            found.setdefault(name, {})[version] = None
    return {name: ", ".join(own) for name, own in found.items()}
