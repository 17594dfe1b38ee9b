"""Compares the peak memory of small functions with values computed by hand."""

from pipelines.analysis.analysis import analyze_module
from unmess.core.ir.parsing import parse

VECTOR = "tensor<1000xf32>"
BYTES = 4000


def function(*lines, result, arguments=""):
    body = "\n".join(lines)
    return f"func.func @main(%x: {VECTOR}{arguments}) -> {VECTOR} {{\n{body}\nreturn {result}\n}}"


def add(result, a, b):
    """Returns an operation whose result is a new tensor."""
    return f"%{result} = arith.addf %{a}, %{b} : {VECTOR}"


def memory(text):
    (entry,) = analyze_module(parse(text, "test"), "test", "linalg").entries
    return entry.memory


def test_chain_needs_two_tensors_at_a_time():
    found = memory(function(add(0, "x", "x"), add(1, 0, 0), add(2, 1, 1), result=f"%2 : {VECTOR}"))
    assert found.inputs == found.results == BYTES
    assert found.peak == 2 * BYTES
    assert [moment.bytes for moment in found.moments] == [BYTES, 2 * BYTES, 2 * BYTES, BYTES]


def test_value_is_held_until_its_last_use():
    found = memory(
        function(
            add(0, "x", "x"), add(1, 0, 0), add(2, 1, 1), add(3, 0, 2), result=f"%3 : {VECTOR}"
        )
    )
    assert found.peak == 3 * BYTES
    assert [held.operation for held in found.held] == [0, 1, 2]


def test_result_reuses_a_destination_that_is_not_used_again():
    def filled(value):
        return f"linalg.fill ins(%c : f32) outs(%{value} : {VECTOR}) -> {VECTOR}"

    constant, empty = "%c = arith.constant 1.0 : f32", f"%e = tensor.empty() : {VECTOR}"
    in_place = function(
        constant, empty, f"%0 = {filled('e')}", f"%1 = {filled(0)}", result=f"%1 : {VECTOR}"
    )
    assert memory(in_place).peak == BYTES
    kept = function(
        constant,
        empty,
        f"%0 = {filled('e')}",
        f"%1 = {filled(0)}",
        add(2, 0, 1),
        result=f"%2 : {VECTOR}",
    )
    assert memory(kept).peak == 3 * BYTES


def test_arguments_are_never_overwritten():
    text = function(
        "%c = arith.constant 1.0 : f32",
        f"%0 = linalg.fill ins(%c : f32) outs(%x : {VECTOR}) -> {VECTOR}",
        result=f"%0 : {VECTOR}",
    )
    assert memory(text).peak == BYTES


def test_view_takes_no_memory_and_keeps_its_source_alive():
    text = function(
        add(0, "x", "x"),
        f"%v = tensor.expand_shape %0 [[0, 1]] output_shape [10, 100] "
        f": {VECTOR} into tensor<10x100xf32>",
        add(1, "x", "x"),
        f"%w = tensor.collapse_shape %v [[0, 1]] : tensor<10x100xf32> into {VECTOR}",
        add(2, 1, "w"),
        result=f"%2 : {VECTOR}",
    )
    assert memory(text).peak == 3 * BYTES


def test_weights_and_literals_are_counted_separately():
    text = function(
        f"%c = arith.constant dense<1.0> : {VECTOR}",
        add(0, "x", "c"),
        add(1, 0, "w"),
        result=f"%1 : {VECTOR}",
        arguments=f', %w: {VECTOR} {{unmess.weight = "layer.weight"}}',
    )
    found = memory(text)
    assert (found.inputs, found.weights, found.constants) == (BYTES, BYTES, BYTES)
    assert found.peak == 2 * BYTES


def test_tensors_inside_a_loop_count_while_it_runs():
    text = function(
        "%0 = arith.constant 0 : index",
        "%1 = arith.constant 1 : index",
        "%9 = arith.constant 9 : index",
        f"%2 = scf.for %i = %0 to %9 step %1 iter_args(%a = %x) -> {VECTOR} {{",
        add(3, "a", "a"),
        add(4, 3, "a"),
        f"scf.yield %4 : {VECTOR}",
        "}",
        result=f"%2 : {VECTOR}",
    )
    # The loop's result, and both values of one iteration.
    assert memory(text).peak == 3 * BYTES
