import sys

import pytest

from unmess.triage.ir_reduction import Tool, command_in, reduce_ir

# Fails if a square root is left, with a message that names a value and a number.
FAILS = """
import re, sys
found = re.search(r"(%\\w+) = math.sqrt", open(sys.argv[1]).read())
if found:
    sys.exit(f"{sys.argv[1]}:7:3: error: no lowering for '{found[1]}' in 12 tries")
"""
IR = """\
// fails repro.mlir
module {
  ml_program.global private mutable @state(dense<0.0> : tensor<3xf32>) : tensor<3xf32>
  func.func @main(%x: tensor<3xf32> {unmess.input = "x"}) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = math.exp %x : tensor<3xf32>
    %1 = func.call @inner(%0, %x) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %2 = math.absf %1 : tensor<3xf32>
    return %2, %x : tensor<3xf32>, tensor<3xf32>
  }
  func.func private @inner(%a: tensor<3xf32>, %b: tensor<3xf32>) -> tensor<3xf32> {
    %0 = arith.addf %a, %b : tensor<3xf32>
    %1 = math.sqrt %0 : tensor<3xf32>
    ml_program.global_store @state = %1 : tensor<3xf32>
    %2 = arith.mulf %1, %0 : tensor<3xf32>
    return %2 : tensor<3xf32>
  }
}
"""


@pytest.fixture
def tool(tmp_path):
    script = tmp_path / "fails.py"
    script.write_text(FAILS)
    return Tool((sys.executable, str(script), "repro.mlir"), "repro.mlir", tmp_path, 20.0)


def reduced(text, tool, left=lambda: 1.0):
    return reduce_ir(text, tool, lambda _text: None, left)


def test_the_operation_that_fails_is_left(tool):
    found = reduced(IR, tool)
    assert found.operations == 1
    header, _, text = found.text.partition("\n")
    assert header == "// fails repro.mlir"
    assert [line.strip() for line in text.strip().splitlines()] == [
        "module {",
        "func.func @main(%arg0: tensor<3xf32>) -> tensor<3xf32> {",
        "%0 = math.sqrt %arg0 : tensor<3xf32>",
        "return %0 : tensor<3xf32>",
        "}",
        "}",
    ]


def test_the_best_ir_so_far_is_kept(tool):
    seconds = iter([1.0, 1.0])

    def left():
        return next(seconds, 0.0)

    found = reduced(IR, tool, left)
    assert 1 < found.operations <= 6
    assert tool.symptom(found.text) == tool.symptom(IR)


def test_ir_for_which_the_tool_passes(tool):
    assert reduced(IR.replace("math.sqrt", "math.rsqrt"), tool) is None


def test_a_run_that_takes_too_long_passes(tmp_path):
    command = (sys.executable, "-c", "import time; time.sleep(60)", "repro.mlir")
    assert Tool(command, "repro.mlir", tmp_path, 0.2).symptom(IR) is None


def test_command_of_a_reproducer():
    assert command_in(IR, "repro.mlir") == ("fails", "repro.mlir")
    assert command_in(IR, "other.mlir") is None
    assert command_in("module {}", "repro.mlir") is None


def test_no_time_at_all(tool):
    assert reduced(IR, tool, lambda: 0.0) is None
