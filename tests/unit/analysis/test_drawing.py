"""Data-flow graphs: every node is drawn below its operands, and no two nodes overlap."""

import re
from xml.etree import ElementTree

from pipelines.analysis.bodies import Body, Node
from unmess.analysis.drawing import draw


def wide():
    """Returns a graph: eight inputs, eight operations that use them all, one that joins these."""
    inputs = [Node("input", f"in{i}", "f32") for i in range(8)]
    middle = [Node("operation", f"op{i}", "f32", tuple(range(8))) for i in range(8)]
    # The edge from input 0 passes through the layer of the eight operations.
    last = Node("operation", "join <&>", "f32", (*range(8, 16), 0))
    return Body((*inputs, *middle, last, Node("yield", "yield", "", (16,))))


def boxes(svg):
    found = {}
    for group in ElementTree.fromstring(svg).iter("g"):
        rect, text = group.find("rect"), group.find("text")
        x, y, width, height = (float(rect.get(name)) for name in ("x", "y", "width", "height"))
        found[text.text] = (x, y, x + width, y + height)
    return found


def test_nodes_are_below_their_operands_and_do_not_overlap():
    body = wide()
    drawn = boxes(draw(body))
    assert drawn.keys() == {node.label for node in body.nodes}
    for node in body.nodes:
        for operand in node.operands:
            assert drawn[body.nodes[operand].label][3] < drawn[node.label][1]
    places = list(drawn.values())
    for index, (x0, y0, x1, y1) in enumerate(places):
        for a0, b0, a1, b1 in places[:index]:
            assert x1 <= a0 or a1 <= x0 or y1 <= b0 or b1 <= y0


def test_each_operand_is_an_edge_and_long_edges_avoid_nodes():
    body = wide()
    svg = str(draw(body))
    paths = re.findall(r'<path class="edge" d="([^"]*)"', svg)
    assert len(paths) == 8 * 8 + 8 + 1 + 1
    (long,) = [path for path in paths if "L" in path]
    x, top = (float(number) for number in re.search(r"L([\d.]+) ([\d.]+)", long).groups())
    for x0, _, x1, y1 in boxes(svg).values():
        assert not (x0 <= x <= x1 and abs(y1 - top) < 1)


def test_a_constant_stands_right_above_its_first_user():
    body = Body(
        (
            Node("input", "in0", "f32"),
            Node("operation", "exp", "f32", (0,)),
            Node("constant", "0.5", "f32"),
            Node("operation", "mulf", "f32", (1, 2)),
            Node("yield", "yield", "", (3,)),
        )
    )
    drawn = boxes(draw(body))
    assert drawn["0.5"][1] == drawn["exp"][1]
