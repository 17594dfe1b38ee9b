"""Tests the analysis of entry functions, layers, source lines and weights."""

from pipelines.analysis.analysis import analyze_module
from unmess.core.ir.parsing import parse

MODULE = """
#conv = loc(fused<{class = "Conv", layer = "net.conv"}>["net.py":3:0])
#called = loc(callsite("lib.py":9:0 at "net.py":5:0))
func.func @first(
    %x: tensor<4xf32> {unmess.input = "x"},
    %w: tensor<4xf32> {unmess.weight = "net.conv.weight"},
    %s: tensor<2xi64> {unmess.state = "unused.count"}) -> tensor<4xf32> {
  %0 = arith.mulf %x, %w : tensor<4xf32> loc(#conv)
  %1 = arith.addf %0, %w : tensor<4xf32> loc(#conv)
  %2 = math.exp %1 : tensor<4xf32> loc(#called)
  return %2 : tensor<4xf32>
}
func.func @second(%x: tensor<8xf32>) -> tensor<8xf32> {
  %table = arith.constant dense<[1., 2., 3., 4., 5., 6., 7., 8.]> : tensor<8xf32>
  %0 = call @helper(%x, %table) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @helper(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.subf %x, %y : tensor<8xf32>
  return %0 : tensor<8xf32>
}
"""


def entries():
    return analyze_module(parse(MODULE, "test"), "test", "linalg").entries


def test_entry_includes_the_functions_that_it_calls():
    first, second = entries()
    assert (first.name, second.name) == ("first", "second")
    assert first.total.flops == 8 and first.total.transcendentals == 4
    assert second.total.flops == 8


def test_layers_are_modules_or_source_lines_with_their_weights():
    first, _ = entries()
    layers = {share.name: share for share in first.layers}
    assert list(layers) == ["net.conv", "lib.py:9", "unused"]
    assert (layers["net.conv"].type, layers["net.conv"].operations) == ("Conv", 2)
    assert (layers["net.conv"].parameters, layers["net.conv"].weight_bytes) == (4, 16)
    assert (layers["unused"].operations, layers["unused"].weight_bytes) == (0, 16)


def test_lines_are_the_innermost_user_lines():
    first, _ = entries()
    assert [(share.name, share.operations) for share in first.lines] == [
        ("net.py:3", 2),
        ("lib.py:9", 1),
    ]


def test_literals_of_several_elements_are_weights():
    _, second = entries()
    (weight,) = second.weights
    assert (weight.elements, weight.bytes) == (8, 32)
