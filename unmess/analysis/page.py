"""Formats an analysis as one HTML page with styles, script and plots inside, for use offline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from unmess.analysis import numbers, plots, text
from unmess.analysis.drawing import draw
from unmess.core.errors.model_sources import source_text
from unmess.pages.plot import legend
from unmess.pages.rendering import render

if TYPE_CHECKING:
    from pipelines.analysis.analysis import Analysis
    from pipelines.analysis.entries import Entry

_FOLDER = Path(__file__).parent


def page(analysis: Analysis) -> str:
    """Returns the page as HTML."""
    return render(
        _FOLDER,
        {
            "count": numbers.count,
            "size": numbers.size,
            "ratio": numbers.ratio,
            "rank": numbers.rank,
            "short_line": text.short_line,
            "source": source_text,
            "layer_name": text.layer_name,
            "loops": text.loops,
            "draw": draw,
        },
        percent=numbers.percent,
        analysis=analysis,
        entries=[
            (entry, _plots(entry), text.costly(entry.layers), text.costly(entry.lines))
            for entry in analysis.entries
        ],
    )


def _plots(entry: Entry) -> dict[str, object]:
    """Returns the plots by name. A plot without numbers is None or left out."""
    if not plots.has_numbers(entry):
        return {"tree": {}, "legend": None, "scatter": None, "timeline": None}
    color = plots.colors(entry)
    trees = {
        "FLOPs": plots.icicle(
            entry, lambda s: s.cost.flops, lambda n: numbers.count(n, "FLOP"), color
        ),
        "bytes moved": plots.icicle(entry, lambda s: s.cost.bytes, numbers.size, color),
        "weights": plots.icicle(entry, lambda s: s.weight_bytes, numbers.size, color),
        "operations": plots.icicle(entry, lambda s: s.operations, numbers.count, color),
    }
    return {
        "tree": {name: tree for name, tree in trees.items() if tree is not None},
        "legend": legend(list(color)),
        "scatter": plots.scatter(entry, color),
        "timeline": plots.timeline(entry),
    }
