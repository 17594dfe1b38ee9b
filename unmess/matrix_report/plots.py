"""Draws errors, times and memory of a matrix, with a color for each column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from unmess.analysis.numbers import ratio
from unmess.matrix.folder import Results
from unmess.pages.plot import COLORS, Plot, logarithmic, shares
from unmess.row import Row

# Smaller errors are drawn here, and count as equal.
_EQUAL = 1e-9


def errors(results: Results, columns: Sequence[str]) -> Markup | None:
    """Plots the share of the matching results whose error is at most x; None without results."""
    return _curves(
        *(results, columns, lambda row: max(row.max_rel_error or 0.0, _EQUAL) if row.ok else None),
        title="largest difference from eager, relative to the largest value",
        text=lambda value: "equal" if value <= _EQUAL else f"{value:.0e}",
    )


def memory(results: Results, columns: Sequence[str]) -> Markup | None:
    """Plots the share of the cells whose peak memory is at most x; None without cells."""
    return _curves(
        *(results, columns, lambda row: row.peak_rss_mb),
        title="peak memory of the process in MB",
        text=lambda value: f"{value:g}",
    )


def _curves(
    results: Results,
    columns: Sequence[str],
    value: Callable[[Row], float | None],
    title: str,
    text: Callable[[float], str],
) -> Markup | None:
    values: dict[str, list[float]] = {column: [] for column in columns}
    for cell, row in results.items():
        if found := value(row):
            values[cell.column].append(found)
    drawn = [each for own in values.values() for each in own]
    if not drawn:
        return None
    plot = Plot(logarithmic(min(drawn), max(drawn)), shares(), height=300)
    parts = list(plot.axes(title, "cells", text, lambda share: f"{share:.0%}"))
    for index, (column, own) in enumerate(values.items()):
        if not own:
            continue
        own.sort()
        path = [f"M{plot.x(own[0]):.1f} {plot.y(0):.1f}"]
        for number, each in enumerate(own, 1):
            path.append(f"H{plot.x(each):.1f}V{plot.y(number / len(own)):.1f}")
        path.append(f"H{plot.x(max(drawn)):.1f}")
        parts.append(
            Markup('<path class="curve c{}" d="{}"><title>{}</title></path>').format(
                index % COLORS, "".join(path), column
            )
        )
    return plot.svg("curves", parts)


def times(results: Results, columns: Sequence[str]) -> Markup | None:
    """Plots the running time of each cell over eager's; None without times."""
    points = [
        (cell, row.seconds["eager"], row.seconds["run"])
        for cell, row in results.items()
        if row.seconds.get("eager") and row.seconds.get("run")
    ]
    if not points:
        return None
    eager, run = ([point[index] for point in points] for index in (1, 2))
    x, y = logarithmic(min(eager), max(eager)), logarithmic(min(run), max(run))
    plot = Plot(x, y)
    parts = list(plot.axes("seconds in eager PyTorch", "seconds on the backend", _short, _short))
    low, high = max(x[1][0], y[1][0]), min(x[1][-1], y[1][-1])
    if low < high:
        parts.append(
            Markup('<path class="equal" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>').format(
                plot.x(low), plot.y(low), plot.x(high), plot.y(high)
            )
        )
    numbers = {column: index % COLORS for index, column in enumerate(columns)}
    for cell, before, after in points:
        parts.append(
            Markup(
                '<circle class="c{}" cx="{:.1f}" cy="{:.1f}" r="3.5"><title>{}, {}: {} × eager'
                "</title></circle>"
            ).format(
                numbers[cell.column],
                plot.x(before),
                plot.y(after),
                cell.model,
                cell.column,
                ratio(after / before),
            )
        )
    return plot.svg("scatter", parts)


def _short(seconds: float) -> str:
    return f"{seconds:g}"
