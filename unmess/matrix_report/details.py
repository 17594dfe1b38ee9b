"""The details that the page shows when a cell is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from unmess.matrix.cells import Cell
from unmess.matrix.folder import REPRODUCERS
from unmess.row import Row

# The most characters of a long text on the page.
_LONGEST = 4000


def details_of(cell: Cell, row: Row, folder: Path) -> list[tuple[str, str]]:
    """Returns titles and values, in the order of the page. Empty values are left out.

    Args:
        folder: the folder of the matrix, which has the reproducers.
    """
    error = {
        "largest difference": row.max_abs_error,
        "relative to the largest value": row.max_rel_error,
        "relative to each element": row.max_element_error,
    }
    shown = {
        "stage": row.stage,
        "cause": row.error,
        "at": row.where,
        "source line": row.source,
        "hint": row.hint,
        "preset": row.with_plain["text"] if row.with_plain else None,
        **{name: None if value is None else f"{value:.2e}" for name, value in error.items()},
        "seconds": ", ".join(f"{step} {value:.3g}" for step, value in row.seconds.items()),
        "peak memory": None if row.peak_rss_mb is None else f"{row.peak_rss_mb:,.0f} MB",
        "notes": "\n".join(row.notes),
        "further sizes": "\n".join(_size(each) for each in row.sizes),
        "run it again": cell.command,
        **_reduced(cell, row),
        "reproducer": row.repro,
        "its first lines": _first_lines(row, folder),
        "in full": row.detail if row.detail != row.error else None,
    }
    return [(title, _cut(value)) for title, value in shown.items() if value]


def _reduced(cell: Cell, row: Row) -> dict[str, str]:
    if row.ok or row.stage in ("usage", "source"):
        return {}
    numerics = " --numerics" if row.stage == "compare" else ""
    return {"reduce it": cell.command.replace("check", "triage", 1) + numerics}


def _size(check: dict[str, Any]) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in check["sizes"].items())
    states = {True: "matches", False: f"differs: {check['error']}", None: "refused by eager"}
    return f"{sizes}: {states[check['ok']]}"


def _first_lines(row: Row, folder: Path) -> str | None:
    """Returns the beginning of a reproducer in the folder; None for other files."""
    if row.repro is None:
        return None
    path = Path(row.repro)
    # A row may come from another machine: do not show other files of this one.
    if path.parent != Path(REPRODUCERS):
        return None
    try:
        with (folder / path).open(encoding="utf-8") as file:
            return file.read(_LONGEST + 1)
    except (OSError, UnicodeDecodeError):
        return None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
