"""Draws the body of a linalg operation as a data-flow graph, in SVG.

The layers go from inputs at the top to results at the bottom. Each node is one layer below the
lowest of its operands. An edge that spans several layers takes a place in each of them, so that it
passes beside the nodes there. Each layer is ordered by the mean position of the connected nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from pipelines.analysis.bodies import Body, Node

_CHARACTER, _PADDING, _HEIGHT = 7.2, 18, 24
_GAP_X, _GAP_Y, _MARGIN = 16, 30, 8
# Width that is reserved in a layer for an edge that passes through it.
_PASSAGE = 6
# Passes over the layers, down and up in turn, that move connected nodes close to each other.
_SWEEPS = 6


@dataclass(frozen=True)
class _Graph:
    """The graph to lay out. Its numbers are those of the body's nodes, followed by the passages.

    A passage is the place of an edge in a layer between its ends.

    Attributes:
        layers: the layer of each node and passage.
        widths: the width of each node and passage.
        edges: chains of numbers from operand to user, through passages.
    """

    layers: list[int]
    widths: list[float]
    edges: list[list[int]]


def draw(body: Body) -> Markup:
    """Returns an SVG element. The page's CSS classes set colors and fonts."""
    graph = _graph(body)
    rows = _ordered(graph)
    centers = _centers(graph, rows)
    width = max(x + graph.widths[place] / 2 for place, (x, _) in centers.items()) + _MARGIN
    height = len(rows) * (_HEIGHT + _GAP_Y) - _GAP_Y + 2 * _MARGIN
    parts = [_edge([centers[place] for place in chain]) for chain in graph.edges]
    parts += [_box(node, *centers[index]) for index, node in enumerate(body.nodes)]
    return Markup(
        '<svg class="graph" role="img" viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" '
        'height="{1:.0f}"><title>{2}</title>{3}</svg>'
    ).format(width, height, str(body), Markup("").join(parts))


def _graph(body: Body) -> _Graph:
    layers = _layers(body)
    widths = [_width(node) for node in body.nodes]
    edges = []
    for user, node in enumerate(body.nodes):
        for operand in dict.fromkeys(node.operands):
            passages = range(layers[operand] + 1, layers[user])
            places = range(len(layers), len(layers) + len(passages))
            layers.extend(passages)
            widths.extend(_PASSAGE for _ in passages)
            edges.append([operand, *places, user])
    return _Graph(layers, widths, edges)


def _layers(body: Body) -> list[int]:
    """Returns the layer of each node. A constant is one layer above its first user."""
    layers: list[int] = []
    first_user: dict[int, int] = {}
    for node in body.nodes:
        layers.append(1 + max((layers[operand] for operand in node.operands), default=-1))
        for operand in node.operands:
            first_user[operand] = min(first_user.get(operand, layers[-1]), layers[-1])
    for index, node in enumerate(body.nodes):
        if not node.operands and node.kind not in ("input", "output"):
            layers[index] = first_user[index] - 1
    return layers


def _ordered(graph: _Graph) -> list[list[int]]:
    rows: list[list[int]] = [[] for _ in range(max(graph.layers) + 1)]
    for place, layer in enumerate(graph.layers):
        rows[layer].append(place)
    above: dict[int, list[int]] = {}
    below: dict[int, list[int]] = {}
    for chain in graph.edges:
        for upper, lower in pairwise(chain):
            above.setdefault(lower, []).append(upper)
            below.setdefault(upper, []).append(lower)
    for sweep in range(_SWEEPS):
        neighbors = below if sweep % 2 else above
        position = {
            place: (index + 0.5) / len(row) for row in rows for index, place in enumerate(row)
        }
        for row in reversed(rows) if sweep % 2 else rows:
            for place in row:
                near = neighbors.get(place)
                if near:
                    position[place] = sum(position[each] for each in near) / len(near)
            row.sort(key=position.__getitem__)
    return rows


def _centers(graph: _Graph, rows: list[list[int]]) -> dict[int, tuple[float, float]]:
    totals = [sum(graph.widths[place] + _GAP_X for place in row) - _GAP_X for row in rows]
    centers = {}
    for level, (row, total) in enumerate(zip(rows, totals, strict=True)):
        x = _MARGIN + (max(totals) - total) / 2
        y = _MARGIN + level * (_HEIGHT + _GAP_Y) + _HEIGHT / 2
        for place in row:
            centers[place] = (x + graph.widths[place] / 2, y)
            x += graph.widths[place] + _GAP_X
    return centers


def _width(node: Node) -> float:
    return len(node.label) * _CHARACTER + _PADDING


def _edge(points: list[tuple[float, float]]) -> Markup:
    """Draws an edge down from layer to layer, straight through the height of each layer."""
    path = []
    for (x0, y0), (x1, y1) in pairwise(points):
        top, bottom = y0 + _HEIGHT / 2, y1 - _HEIGHT / 2
        middle = (top + bottom) / 2
        path.append(f"{'L' if path else 'M'}{x0:.1f} {top:.1f}")
        path.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {bottom:.1f}")
    return Markup('<path class="edge" d="{}"/>').format("".join(path))


def _box(node: Node, x: float, y: float) -> Markup:
    width = _width(node)
    radius = 4 if node.kind in ("operation", "yield") else _HEIGHT / 2
    title = f"{node.label}: {node.type}" if node.type else node.label
    return Markup(
        '<g class="node {}"><title>{}</title><rect x="{:.1f}" y="{:.1f}" width="{:.1f}" '
        'height="{}" rx="{}"/><text x="{:.1f}" y="{:.1f}">{}</text></g>'
    ).format(
        node.kind,
        title,
        x - width / 2,
        y - _HEIGHT / 2,
        width,
        _HEIGHT,
        radius,
        x,
        y + 4,
        node.label,
    )
