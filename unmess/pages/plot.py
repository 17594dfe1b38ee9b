"""A plot area with axes, as SVG. The styles of the page set colors and fonts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from markupsafe import Markup

WIDTH = 1160
# The number of colors in `base.css`.
COLORS = 8

# The position of a value on an axis, from 0 to 1, and the values of its ticks.
Axis = tuple[Callable[[float], float], list[float]]


def logarithmic(low: float, high: float) -> Axis:
    """Returns an axis from the power of ten below `low` to the one above `high`."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    last = max(last, first + 1)
    ticks = [10.0**power for power in range(first, last + 1)]
    return lambda value: (math.log10(value) - first) / (last - first), ticks


def shares() -> Axis:
    """Returns a linear axis from 0 to 1."""
    return lambda value: value, [0.0, 0.25, 0.5, 0.75, 1.0]


class Plot:
    """A plot area with two axes.

    Attributes:
        height: of the plot; its width is `WIDTH`.
    """

    _LEFT, _BOTTOM, _TOP, _RIGHT = 70, 44, 12, 16

    def __init__(self, x: Axis, y: Axis, height: int = 360):
        self.height = height
        self._x, self._x_ticks = x
        self._y, self._y_ticks = y

    def x(self, value: float) -> float:
        """Returns the horizontal coordinate of a value."""
        return self._LEFT + self._x(value) * (WIDTH - self._LEFT - self._RIGHT)

    def y(self, value: float) -> float:
        """Returns the vertical coordinate of a value."""
        bottom = self.height - self._BOTTOM
        return bottom - self._y(value) * (bottom - self._TOP)

    def axes(
        self, x_title: str, y_title: str, x_text: Callable, y_text: Callable
    ) -> Iterator[Markup]:
        """Draws the grid, its ticks, and the titles.

        Args:
            x_text, y_text: return the text of a tick.
        """
        left, right = self._LEFT, WIDTH - self._RIGHT
        bottom = self.height - self._BOTTOM
        line = Markup('<line class="grid" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>')
        text = Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>')
        for tick in self._x_ticks:
            x = self.x(tick)
            yield line.format(x, self._TOP, x, bottom)
            yield text.format("tick middle", x, bottom + 16, x_text(tick))
        for tick in self._y_ticks:
            y = self.y(tick)
            yield line.format(left, y, right, y)
            yield text.format("tick end", left - 6, y + 4, y_text(tick))
        yield text.format("axis middle", (left + right) / 2, self.height - 8, x_title)
        yield Markup(
            '<text class="axis middle" transform="translate(14 {}) rotate(-90)">{}</text>'
        ).format(bottom / 2, y_title)

    def svg(self, kind: str, parts: Iterable[Markup]) -> Markup:
        """Returns the SVG element with `parts` in it. `kind` is its class."""
        return Markup('<svg class="{}" role="img" viewBox="0 0 {} {}">{}</svg>').format(
            kind, WIDTH, self.height, Markup("").join(parts)
        )


def legend(entries: Sequence[str]) -> Markup:
    """Draws the legend: the name of each color, in the order of the colors."""
    items = Markup("").join(
        Markup('<li><i class="c{}"></i>{}</li>').format(index % COLORS, name)
        for index, name in enumerate(entries)
    )
    return Markup('<ul class="legend">{}</ul>').format(items)
