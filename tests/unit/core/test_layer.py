"""Layers in MLIR locations."""

from torch_mlir import ir

from unmess.core.errors.user_source import location_line
from unmess.core.ir.layer import Layer, in_layer, location_layer


def test_layer_of_a_location_and_the_user_line_in_it():
    with ir.Context():
        line = ir.Location.file("/home/me/net.py", 7, 0)
        location = in_layer(line, Layer("layer1.0", "Block"))
        assert location_layer(location) == Layer("layer1.0", "Block")
        assert location_line(location) == "/home/me/net.py:7"
        assert location_layer(line) is None


def test_layer_under_other_locations():
    with ir.Context():
        line = ir.Location.file("/home/me/net.py", 7, 0)
        inner, outer = in_layer(line, Layer("a.b", "B")), in_layer(line, Layer("a", "A"))
        assert location_layer(ir.Location.callsite(inner, [outer])).path == "a.b"
        assert location_layer(ir.Location.callsite(line, [outer])).path == "a"
        assert location_layer(ir.Location.fused([line, inner])).path == "a.b"
        assert location_layer(ir.Location.name("result", inner)).path == "a.b"
        assert location_layer(ir.Location.fused([line, line])) is None
