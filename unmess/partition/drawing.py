"""Draws the regions of programs and the operators between them, on one HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from markupsafe import Markup, escape

from pipelines.analysis.bodies import Body, Node
from unmess import analysis
from unmess.analysis.drawing import draw
from unmess.partition.levels import is_computed
from unmess.partition.partitioned import PartitionedGraph

_STYLE = Path(analysis.__file__).with_name("page.css")


def page(partitions: Mapping[str, PartitionedGraph], title: str) -> str:
    """Returns a page with a data-flow graph for each entry point."""
    graphs = [
        Markup("<h2>{}</h2>{}").format(name, draw(_body(each))) for name, each in partitions.items()
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE.read_text('utf-8')}</style><h1>{escape(title)}</h1>{''.join(graphs)}"
    )


def _body(partition: PartitionedGraph) -> Body:
    """Returns the calls of regions and operators as nodes of a drawing."""
    operators = {region.name: region.operators for region in partition.regions}
    outside = {each.node.name: each for each in partition.outside}
    nodes: list[Node] = []
    # The position of a graph node in the drawing. Those without one pass on their operands.
    places: dict = {}
    for node in partition.graph_module.graph.nodes:
        operands = tuple(
            dict.fromkeys(place for each in node.all_input_nodes for place in places[each])
        )
        if node.op == "output":
            nodes.append(Node("yield", "results", "", operands))
        elif node.op == "placeholder":
            places[node] = (len(nodes),)
            nodes.append(Node("input", node.name, ""))
        elif node.op == "call_module":
            places[node] = (len(nodes),)
            count = operators[node.target]
            nodes.append(Node("operation", f"{node.target}: {count} operators", "", operands))
        elif is_computed(node) and node.name in outside:
            places[node] = (len(nodes),)
            each = outside[node.name]
            nodes.append(Node("constant", each.operator, each.reason, operands))
        else:
            places[node] = operands
    return Body(tuple(nodes))
