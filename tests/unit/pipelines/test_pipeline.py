import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_d
from torch_mlir.passmanager import PassManager

from pipelines.debugging import debugging
from pipelines.pipeline import Pipeline, Step, brief, spelled
from pipelines.registry import FUNCTIONS, PIPELINES
from unmess.core.errors.error import Error

IDENTITY = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> { return %x : tensor<2xf32> }"
RELU = """
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
"""
UNKNOWN = """
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.operator "torch.my.op"(%x) : (!torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> loc("user.py":3:0)
  return %0 : !torch.vtensor<[2],f32>
}
"""  # noqa: E501
# Top-k with unsorted results, which torch-mlir cannot lower. Its conversion reports the error at
# the constants.
TOPK = """
func.func @main(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[2],f32> {
  %k = torch.constant.int 2
  %dim = torch.constant.int 0
  %true = torch.constant.bool true
  %false = torch.constant.bool false
  %values, %indices = torch.aten.topk %x, %k, %dim, %true, %false : !torch.vtensor<[4],f32>, !torch.int, !torch.int, !torch.bool, !torch.bool -> !torch.vtensor<[2],f32>, !torch.vtensor<[2],si64> loc("user.py":3:0)
  return %values : !torch.vtensor<[2],f32>
}
"""  # noqa: E501

# The pass to TOSA also reverts the conversion of the first operator.
RELU_TOPK = TOPK.replace("aten.topk %x", "aten.topk %r").replace(
    "  %k =",
    "  %r = torch.aten.relu %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>\n  %k =",
)


def parse(text):
    context = ir.Context()
    torch_d.register_dialect(context)
    with context:
        return ir.Module.parse(text)


def opt(*arguments, stdin=""):
    command = [sys.executable, "-m", "unmess.opt", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True)


def run_tool(command):
    """Runs the command line of a reproducer with the tools of this environment."""
    tool = Path(sys.executable).with_name(command[0])
    start = [tool] if command[0] != "unmess-opt" else [sys.executable, "-m", "unmess.opt"]
    return subprocess.run([*start, *command[1:]], capture_output=True, text=True)


def test_steps_run_in_order_and_are_printed():
    seen = []
    steps = (Step("func.func(canonicalize{max-iterations=3})", "first"), Step("cse", "second"))
    pipeline = Pipeline("two", "linalg", "hint", steps)
    with debugging(["all"], seen.append):
        pipeline.apply(parse(IDENTITY))
    assert [text.splitlines()[0] for text in seen] == ["// After canonicalize", "// After cse, two"]
    assert all("func.func @main" in text for text in seen)
    assert str(pipeline) == "builtin.module(func.func(canonicalize{max-iterations=3}),cse)"


@pytest.mark.parametrize("name", PIPELINES)
def test_every_step_of_every_pipeline_exists(name):
    is_later = name.startswith(("reference", "upstream", "portable")) or name.endswith("to-linalg")
    text = IDENTITY if is_later else RELU
    PIPELINES[name].apply(parse(text))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_step_in_python_takes_a_module(name):
    FUNCTIONS[name](parse(IDENTITY))


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("linalg", "torch-backend-to-linalg-on-tensors-backend-pipeline"),
        ("tosa", "torch-backend-to-tosa-backend-pipeline"),
        ("stablehlo", "torch-backend-to-stablehlo-backend-pipeline"),
    ],
)
def test_output_dialect_pipelines_match_those_of_torch_mlir(name, own):
    """MLIR prints all options of a pass, so a changed default is detected, too."""
    # This function runs the pass, on each entry function.
    pass_of = {"stablehlo-refine-sizes": Step("stablehlo-refine-shapes", "")}
    steps = [pass_of.get(step.text, step) for step in PIPELINES[name].steps]
    passes = [step for step in steps if step.function is None]
    with parse(RELU).context:
        assert str(PassManager.parse(spelled(passes))) == str(
            PassManager.parse(f"builtin.module({own})")
        )


# A pipeline that fails at the first torch operator.
STRICT = Pipeline("strict", "compile", "hint", (Step("torch-verify-tosa-backend-contract", ""),))


@pytest.mark.parametrize(
    ("pipeline", "text", "tool", "diagnostic"),
    [
        (PIPELINES["torch"], UNKNOWN, "torch-mlir-opt", "user.py:3:0: error: failed to legalize"),
        # This pass reports the error at the constants.
        (PIPELINES["linalg"], TOPK, "torch-mlir-opt", "error: failed to legalize operation"),
        (PIPELINES["tosa"], TOPK, "torch-mlir-opt", "user.py:3:0: error: failed to legalize"),
        (PIPELINES["stablehlo"], TOPK, "torch-mlir-opt", "error: failed to legalize operation"),
        (STRICT, UNKNOWN, "unmess-opt", "compile: no lowering for my.op"),
    ],
)
def test_a_failure_leaves_a_reproducer_that_runs_by_itself(
    pipeline, text, tool, diagnostic, tmp_path, monkeypatch
):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    with pytest.raises(Error) as caught:
        pipeline.apply(parse(text))
    with open(caught.value.repro) as file:
        command = shlex.split(file.readline().removeprefix("// "))
    assert command[0] == tool and command[-1] == caught.value.repro
    again = run_tool(command)
    assert again.returncode != 0
    assert diagnostic in again.stderr
    assert "Traceback" not in again.stderr


def test_unmess_opt_lists_and_runs_pipelines():
    assert opt("--list").stdout.split() == [*PIPELINES, *FUNCTIONS]
    lowered = opt("--pipeline", "reference", stdin=IDENTITY)
    assert lowered.returncode == 0 and "llvm.func @main" in lowered.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("--pipeline", "nope"), IDENTITY, "unknown pipeline 'nope'"),
        (("--pass-pipeline", "builtin.module(nope)"), IDENTITY, "cannot parse"),
        ((), "not mlir", "does not parse"),
        (("no-such-file.mlir",), "", "No such file"),
    ],
)
def test_unmess_opt_bad_input(arguments, stdin, message):
    done = opt(*arguments, stdin=stdin)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_brief_keeps_the_cause_only():
    message = "failed to legalize operation 'torch.x': %0 = \"torch.x\"(%1) : !t\nnote: more"
    assert brief(message) == "failed to legalize operation 'torch.x'"
    assert len(brief("x" * 1000)) == 240


@pytest.mark.parametrize(
    ("pipeline", "text", "cause"),
    [
        ("torch", UNKNOWN, "no lowering for my.op (pass func.func(torch-reduce-op-variants"),
        ("linalg", TOPK, "no lowering for aten.topk (pass func.func(torch-finalizing-"),
        ("tosa", RELU_TOPK, "no lowering for aten.topk (pass func.func(convert-torch-to-tosa"),
    ],
)
def test_error_names_the_operator_without_a_lowering(pipeline, text, cause):
    with pytest.raises(Error) as caught:
        PIPELINES[pipeline].apply(parse(text))
    assert caught.value.cause.startswith(cause)
    assert caught.value.where == "user.py:3"
