import subprocess
import sys

import pytest
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_d

from pipelines.debugging import debugging
from pipelines.pipeline import Pipeline, Step, brief
from pipelines.registry import PIPELINES
from unmess.core.error import Error

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
# Without an order of the results, which torch-mlir has no lowering for; the constants are what its
# conversion complains about.
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


def parse(text):
    context = ir.Context()
    torch_d.register_dialect(context)
    with context:
        return ir.Module.parse(text)


def opt(*arguments, stdin=""):
    command = [sys.executable, "-m", "pipelines.opt", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True)


def test_steps_run_in_order_and_are_announced():
    seen = []
    steps = (Step("func.func(canonicalize{max-iterations=3})", "first"), Step("cse", "second"))
    pipeline = Pipeline("two", "linalg", "hint", steps)
    with debugging(["all"], seen.append):
        pipeline.apply(parse(IDENTITY))
    assert [text.splitlines()[0] for text in seen] == ["// After canonicalize", "// After cse, two"]
    assert all("func.func @main" in text for text in seen)
    assert str(pipeline) == "builtin.module(func.func(canonicalize{max-iterations=3}),cse)"


@pytest.mark.parametrize("name", PIPELINES)
def test_every_step_of_every_pipeline_is_a_pass_that_exists(name):
    text = IDENTITY if name.startswith(("reference", "upstream")) else RELU
    PIPELINES[name](parse(text))


def test_a_failure_leaves_a_reproducer_that_reproduces_it(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    with pytest.raises(Error) as caught:
        PIPELINES["torch"](parse(UNKNOWN))
    error = caught.value
    assert (error.stage, error.where) == ("torch", "user.py:3")
    assert error.hint
    with open(error.repro) as file:
        comment, body = file.read().split("\n", 1)
    passes = comment.split("--pass-pipeline=")[1].split("'")[1]
    again = opt("--pass-pipeline", passes, stdin=body)
    assert again.returncode == 3
    assert "no lowering for my.op" in again.stderr
    assert "at: user.py:3" in again.stderr
    assert "Traceback" not in again.stderr


def test_unmess_opt_lists_and_runs_pipelines():
    assert opt("--list").stdout.split() == list(PIPELINES)
    lowered = opt("--pipeline", "reference", stdin=IDENTITY)
    assert lowered.returncode == 0 and "llvm.func @main" in lowered.stdout


@pytest.mark.parametrize(
    ("arguments", "stdin", "message"),
    [
        (("--pipeline", "nope"), IDENTITY, "unknown pipeline 'nope'"),
        (("--pass-pipeline", "builtin.module(nope)"), IDENTITY, "does not parse"),
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
    ],
)
def test_the_operator_that_has_no_lowering_is_named(pipeline, text, cause):
    with pytest.raises(Error) as caught:
        PIPELINES[pipeline](parse(text))
    assert caught.value.cause.startswith(cause)
    assert caught.value.where == "user.py:3"
