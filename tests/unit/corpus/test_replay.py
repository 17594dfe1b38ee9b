"""Kernels on upstream MLIR and in NumPy: each process has upstream MLIR alone."""

import hashlib
import sys

import numpy as np
import pytest

from unmess.core.processes.workers import Parent
from unmess.corpus.verify import LIBRARIES, replay_kernels


def kernel(body, arguments, inputs, output, maps, iterators):
    """Returns a module with one `linalg.generic`."""
    names = ", ".join(f"%a{number}: {kind}" for number, kind in enumerate(arguments))
    operands = ", ".join(f"%a{number}" for number in range(inputs))
    kinds = ", ".join(arguments[:inputs])
    return f"""
func.func @kernel({names}) -> {output} {{
  %0 = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
    ins({operands} : {kinds}) outs(%a{inputs} : {output}) {{
{body}
  }} -> {output}
  return %0 : {output}
}}
"""


ROW = "affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>"
SAME = "affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>"
SUM = """^bb0(%in: f32, %out: f32):
  %1 = math.exp %in : f32
  %2 = arith.addf %out, %1 : f32
  linalg.yield %2 : f32"""
GATHER = """^bb0(%in: i64, %out: f32):
  %1 = arith.index_cast %in : i64 to index
  %2 = tensor.extract %a2[%1] : tensor<7xf32>
  linalg.yield %2 : f32"""
DIVIDE = """^bb0(%in: i32, %out: i32):
  %1 = arith.divsi %out, %in : i32
  linalg.yield %1 : i32"""
ABSOLUTE = """^bb0(%in: i64, %out: i64):
  %1 = math.absi %in : i64
  %2 = arith.addi %1, %out : i64
  linalg.yield %2 : i64"""
UNKNOWN = """^bb0(%in: i32, %out: i32):
  %1 = math.ctpop %in : i32
  linalg.yield %1 : i32"""
NAMED = """
func.func @kernel(%a: tensor<1x3x?x9xf32>, %b: tensor<4x3x3x3xf32>, %c: tensor<1x4x?x4xf32>)
    -> tensor<1x4x?x4xf32> {
  %0 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>,
    strides = dense<2> : vector<2xi64>} ins(%a, %b : tensor<1x3x?x9xf32>, tensor<4x3x3x3xf32>)
    outs(%c : tensor<1x4x?x4xf32>) -> tensor<1x4x?x4xf32>
  return %0 : tensor<1x4x?x4xf32>
}
"""
HALF = NAMED.replace("f32", "bf16")
KERNELS = {
    "sum": kernel(
        SUM,
        ["tensor<3x?xf32>", "tensor<3xf32>"],
        1,
        "tensor<3xf32>",
        ROW,
        '"parallel", "reduction"',
    ),
    "large": kernel(
        SUM,
        ["tensor<3000x900xf32>", "tensor<3000xf32>"],
        1,
        "tensor<3000xf32>",
        ROW,
        '"parallel", "reduction"',
    ),
    "gather": kernel(
        GATHER,
        ["tensor<50xi64>", "tensor<50xf32>", "tensor<7xf32>"],
        1,
        "tensor<50xf32>",
        SAME,
        '"parallel"',
    ),
    "divide": kernel(
        DIVIDE, ["tensor<50xi32>", "tensor<50xi32>"], 1, "tensor<50xi32>", SAME, '"parallel"'
    ),
    # All rows are added up in the only row of the result.
    "constant index": kernel(
        ABSOLUTE,
        ["tensor<6x5xi64>", "tensor<1x5xi64>"],
        1,
        "tensor<1x5xi64>",
        "affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (0, d1)>",
        '"reduction", "parallel"',
    ),
    "convolution": NAMED,
    "bfloat16": HALF,
    "unknown": kernel(
        UNKNOWN, ["tensor<5xi32>", "tensor<5xi32>"], 1, "tensor<5xi32>", SAME, '"parallel"'
    ),
    "not MLIR": "func.func @kernel(",
}


@pytest.fixture(scope="module")
def results():
    items = [(hashlib.sha256(text.encode()).hexdigest(), text, 0) for text in KERNELS.values()]
    items.append(("0" * 64, KERNELS["sum"], 0))
    with Parent(LIBRARIES) as parent:
        found = {each["name"]: each for each in replay_kernels(parent, items, 60, 1)}
    return dict(zip([*KERNELS, "changed"], [found[item[0]] for item in items], strict=True))


@pytest.mark.parametrize(
    "name", ["sum", "gather", "divide", "constant index", "convolution", "bfloat16"]
)
def test_right(results, name):
    assert results[name]["result"] == "right", results[name]
    assert results[name]["elements"] == results[name]["of"] > 0


def test_of_a_large_result_some_elements_are_compared(results):
    found = results["large"]
    assert found["result"] == "right" and 64 <= found["elements"] < found["of"] == 3000


@pytest.mark.parametrize(
    ("name", "result", "reason"),
    [
        ("unknown", "not checkable", "no NumPy function for math.ctpop"),
        ("not MLIR", "wrong", "upstream MLIR does not parse it"),
        ("changed", "wrong", "the text has another SHA-256"),
    ],
)
def test_reasons(results, name, result, reason):
    assert results[name]["result"] == result and reason in results[name]["reason"]


def wrong_sum(item):
    """Replays a kernel with a NumPy addition that is wrong."""
    from unmess.corpus.replay import checking, scalars

    assert "torch" not in sys.modules and "torch_mlir" not in sys.modules
    scalars.BINARY["arith.addf"] = lambda a, b: np.add(a, b) * np.float32(1.001)
    return checking.replay(item)


def test_a_difference_is_wrong():
    text = KERNELS["sum"]
    item = (hashlib.sha256(text.encode()).hexdigest(), text, 0)
    with Parent(LIBRARIES) as parent, parent.start(send_result, item) as worker:
        (found,) = worker.messages(print)
    assert found.result == "wrong" and "3 of 3 elements differ" in found.reason


def send_result(send, item):
    send(wrong_sum(item))
