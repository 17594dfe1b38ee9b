"""Draws plots as SVG elements. The page's CSS classes set colors and fonts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from markupsafe import Markup

from unmess.analysis.numbers import count, percent, ratio, size
from unmess.analysis.text import layer_name, short_line
from unmess.pages.plot import COLORS, WIDTH, Plot, logarithmic

if TYPE_CHECKING:
    from pipelines.analysis.entries import Entry, Share

_ROW, _LABEL = 26, 6.6
# Layers narrower than this, in units of `WIDTH`, cannot be seen and are not drawn.
_NARROW = 0.4


@dataclass
class _Module:
    """A node in the tree of modules, with its own cost and that of all modules below it."""

    name: str
    path: str
    type: str = ""
    own: int = 0
    children: dict[str, _Module] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return self.own + sum(child.total for child in self.children.values())

    @property
    def depth(self) -> int:
        return 1 + max((child.depth for child in self.children.values()), default=0)


def has_numbers(entry: Entry) -> bool:
    """Returns whether all costs are numbers, so that they can be drawn."""
    return all(
        isinstance(share.cost.flops, int) and isinstance(share.cost.bytes, int)
        for share in entry.layers
    )


def colors(entry: Entry) -> dict[str, int]:
    """Assigns a number below `COLORS` to each of the most expensive classes of layers."""
    totals: dict[str, float] = {}
    for share in entry.layers:
        if share.type:
            work = math.log1p(share.cost.flops) + math.log1p(share.cost.bytes)
            totals[share.type] = totals.get(share.type, 0.0) + work
    names = sorted(totals, key=lambda name: -totals[name])[:COLORS]
    return {name: index for index, name in enumerate(names)}


def icicle(
    entry: Entry, value: Callable[[Share], int], shown: Callable[[int], str], color: dict[str, int]
) -> Markup | None:
    """Draws the tree of modules from the model down, each as wide as its share of the total.

    Returns:
        The plot; None if the total is 0.
    """
    root = _Module("", "")
    for share in entry.layers:
        module = root
        # A layer known only by its source line is a child of the model.
        names = share.name.split(".") if share.type and share.name else [layer_name(share)]
        for index, name in enumerate(names if share.name else []):
            path = ".".join(names[: index + 1])
            module = module.children.setdefault(name, _Module(name, path))
        module.own += value(share)
        module.type = share.type
    if not root.total:
        return None
    root.name = root.path = entry.name
    parts = list(_bars(root, 0.0, 0, root.total, shown, color))
    height = root.depth * _ROW
    return Markup('<svg class="icicle" role="img" viewBox="0 0 {} {}">{}</svg>').format(
        WIDTH, height, Markup("").join(parts)
    )


def _bars(
    module: _Module,
    x: float,
    level: int,
    whole: int,
    shown: Callable[[int], str],
    color: dict[str, int],
) -> Iterator[Markup]:
    width = WIDTH * module.total / whole
    if width < _NARROW:
        return
    fits = int((width - 8) / _LABEL)
    label = module.name if len(module.name) <= fits else module.name[: fits - 1] + "…"
    kind = f"c{color[module.type]}" if module.type in color and not module.children else "inner"
    what = f"{module.path} {module.type}".strip()
    yield Markup(
        '<g class="{}"><title>{}\n{} ({})</title><rect x="{:.2f}" y="{}" width="{:.2f}" '
        'height="{}"/>{}</g>'
    ).format(
        kind,
        what,
        shown(module.total),
        percent(module.total, whole),
        x,
        level * _ROW,
        width,
        _ROW - 1,
        Markup('<text x="{:.2f}" y="{}">{}</text>').format(x + 4, level * _ROW + 17, label)
        if fits >= 3
        else "",
    )
    for child in module.children.values():
        yield from _bars(child, x, level + 1, whole, shown, color)
        x += WIDTH * child.total / whole


def scatter(entry: Entry, color: dict[str, int]) -> Markup | None:
    """Plots layers by arithmetic intensity and floating-point operations, on logarithmic axes.

    Returns:
        The plot; None if no layer computes in floating point.
    """
    layers = [share for share in entry.layers if share.cost.intensity]
    if not layers:
        return None
    plot = Plot(
        logarithmic(min(s.cost.intensity for s in layers), max(s.cost.intensity for s in layers)),
        logarithmic(min(s.cost.flops for s in layers), max(s.cost.flops for s in layers)),
    )
    parts = [*plot.axes("FLOP per byte", "FLOPs", ratio, count)]
    for share in layers:
        parts.append(
            Markup(
                '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="5"><title>{}\n{}, {}, {} FLOP/B'
                "</title></circle>"
            ).format(
                f"c{color[share.type]}" if share.type in color else "other",
                plot.x(share.cost.intensity),
                plot.y(share.cost.flops),
                f"{layer_name(share)} {share.type}".strip(),
                count(share.cost.flops, "FLOP"),
                size(share.cost.bytes),
                ratio(share.cost.intensity),
            )
        )
    return plot.svg("scatter", parts)


def timeline(entry: Entry) -> Markup | None:
    """Plots the memory of temporaries during a call, by operation, and marks the peak.

    Returns:
        The plot; None if there are no temporaries or sizes are unknown.
    """
    memory = entry.memory
    if memory is None or not memory.peak:
        return None
    left, right, top, bottom, height = 70, WIDTH - 16, 26, 236, 270
    last = max(memory.moments[-1].operation, 1)
    step = (right - left) / (last + 1)
    made = entry.by_position

    def x(position: int) -> float:
        return left + position * step

    def y(bytes_: int) -> float:
        return bottom - bytes_ / memory.peak * (bottom - top)

    outline = [f"M{left} {bottom}"]
    touch = []
    for index, moment in enumerate(memory.moments):
        after = memory.moments[index + 1].operation if index + 1 < len(memory.moments) else last + 1
        outline.append(f"H{x(moment.operation):.1f}V{y(moment.bytes):.1f}H{x(after):.1f}")
        maker = made.get(moment.operation)
        layer = f" in {maker.layer.path}" if maker and maker.layer and maker.layer.path else ""
        touch.append(
            Markup(
                '<rect class="touch" x="{:.1f}" y="{}" width="{:.2f}" height="{}"><title>{} after '
                "{}{}</title></rect>"
            ).format(
                x(moment.operation),
                top,
                x(after) - x(moment.operation),
                bottom - top,
                size(moment.bytes) or "0 B",
                maker.name if maker else "the last use of a value",
                layer,
            )
        )
    outline.append(f"V{bottom}Z")
    peak = x(memory.at) + step / 2
    maker = made.get(memory.at)
    where = f"{size(memory.peak)} at {maker.name}" if maker else size(memory.peak)
    if maker and maker.line:
        where += f", {short_line(maker.line)}"
    parts = [
        _level(left, right, y(share * memory.peak), size(round(share * memory.peak)))
        for share in (0, 0.25, 0.5, 0.75, 1)
    ]
    parts += [
        Markup('<path class="area" d="{}"/>').format("".join(outline)),
        Markup('<line class="peak" x1="{0:.1f}" y1="{1}" x2="{0:.1f}" y2="{2}"/>').format(
            peak, top - 4, bottom
        ),
        Markup('<text class="axis {}" x="{:.1f}" y="{}">{}</text>').format(
            "end" if peak > WIDTH / 2 else "", peak + (-6 if peak > WIDTH / 2 else 6), 16, where
        ),
        Markup('<text class="axis middle" x="{}" y="{}">operations, in order</text>').format(
            (left + right) / 2, height - 10
        ),
        *touch,
    ]
    return Markup('<svg class="timeline" role="img" viewBox="0 0 {} {}">{}</svg>').format(
        WIDTH, height, Markup("").join(parts)
    )


def _level(left: float, right: float, y: float, text: str) -> Markup:
    return Markup(
        '<line class="grid" x1="{0}" y1="{2:.1f}" x2="{1}" y2="{2:.1f}"/>'
        '<text class="tick end" x="{3}" y="{4:.1f}">{5}</text>'
    ).format(left, right, y, left - 6, y + 4, text or "0")
