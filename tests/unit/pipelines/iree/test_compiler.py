"""Whatever IREE's compiler does, the user gets one cause, with a reproducer that does the same."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import unmess
from pipelines.iree import compiler as subject
from pipelines.iree.packing import splitting_options
from pipelines.iree.targets import target

LAYER = Path(torch.nn.__file__).with_name("modules") / "conv.py"
WRONG = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.softmax dimension(3) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def failed(monkeypatch, tmp_path):
    """The Error where the compiler's process runs the given Python code instead."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))

    def compile_with(code):
        def command(_module, descriptor, *_options):
            return [sys.executable, "-c", code, descriptor]

        monkeypatch.setattr(subject.processes, "command", command)
        with pytest.raises(unmess.Error) as caught:
            subject.compile_text("module {}", ("--option=a b",), "model")
        return caught.value

    return compile_with


def test_a_crash_costs_the_compilation_alone(failed):
    error = failed("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert error.stage == "compile"
    assert error.cause.startswith("IREE's compiler crashes with SIGSEGV")
    text = Path(error.repro).read_text()
    command = f"iree-compile '--option=a b' {error.repro} -o /dev/null"
    assert text.startswith(f"// {command}\nmodule {{}}")


def test_what_llvm_says_before_it_gives_up_is_the_cause(failed):
    error = failed(
        "import os, sys; print('LLVM ERROR: Cannot select: v4bf16', file=sys.stderr, flush=True); "
        "os.abort()"
    )
    assert "SIGABRT" in error.cause and "Cannot select: v4bf16" in error.cause


def test_being_killed_hints_at_memory(failed):
    assert "memory" in failed("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").hint


def test_half_a_diagnostic_is_passed_over(failed):
    error = failed(
        "import os, sys;"
        """os.write(int(sys.argv[1]), b'[2, "user.py:7:0: error: no"]\\n[2, "us');"""
        "sys.exit(1)"
    )
    assert error.cause == "IREE does not compile the module: no"
    assert error.where == "user.py:7"


@pytest.mark.parametrize(
    ("text", "where", "message"),
    [
        ("model.py:3:1: error: 'x' op is wrong", "model.py:3", "'x' op is wrong"),
        ('loc("model.py":3:1): error: wrong', "model.py:3", "wrong"),
        ('loc(callsite("lib.py":9:1 at "model.py":3:1)): wrong', "lib.py:9", "wrong"),
        (f"{LAYER}:9:0: error: wrong\n\nmodel.py:3:0: called from", "model.py:3", "wrong"),
        (f"{LAYER}:9:0: error: wrong", None, "wrong"),
        ("loc(unknown): failed to convert", None, "failed to convert"),
        ("<unknown>:0: error: unknown target", None, "unknown target"),
    ],
)
def test_a_place_is_taken_off_the_message(text, where, message):
    assert subject._users_line(text) == where
    assert subject._message(text).splitlines()[0] == message


def test_a_packer_is_not_written_by_the_reproducer(monkeypatch, tmp_path):
    """The file that it goes to is a temporary one."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    options = splitting_options(tmp_path / "gone" / "packer.mlir")
    with pytest.raises(unmess.Error) as caught:
        subject.compile_text(WRONG, (*target("iree-cpu").options, *options), "model")
    command = Path(caught.value.repro).read_text().splitlines()[0]
    assert "--iree-parameter-encoder-output-file=/dev/null" in command
    assert "gone" not in command


def test_options_that_are_refused():
    with pytest.raises(unmess.Error, match="refuses its options") as caught:
        subject.compile_text(WRONG, ("--iree-no-such-option",), "model")
    assert caught.value.stage == "usage"


@pytest.mark.parametrize(
    ("runner", "options"),
    [
        ("iree-cpu", unmess.TargetOptions(cpu="abacus")),
        ("iree-cuda", unmess.TargetOptions(cuda="abacus")),
        ("iree-hip", unmess.TargetOptions(hip="abacus")),
        ("iree-vulkan", unmess.TargetOptions(vulkan="abacus")),
    ],
)
def test_hardware_that_nobody_knows_is_said(runner, options):
    program = unmess.capture(torch.nn.ReLU(), (torch.randn(3),))
    with pytest.raises(unmess.Error, match="does not know 'abacus'") as caught:
        unmess.load(program, on=runner, target=options)
    assert caught.value.stage == "usage"


def test_the_reproducer_reproduces(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    with pytest.raises(unmess.Error) as caught:
        subject.compile_text(WRONG, target("iree-cpu").options, "model")
    repro = caught.value.repro
    command = Path(repro).read_text().splitlines()[0].removeprefix("// ")
    words = shlex.split(command)
    tool = Path(sys.executable).with_name(words[0])
    done = subprocess.run([tool, *words[1:]], capture_output=True, text=True)
    assert done.returncode == 1
    assert caught.value.cause.partition("module: ")[2] in done.stderr
