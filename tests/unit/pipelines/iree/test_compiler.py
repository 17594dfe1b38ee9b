"""Failures of IREE's compiler raise one Error with a cause and a reproducer of the failure."""

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import unmess
from pipelines.iree import compiler as subject
from pipelines.iree.packing import splitting_options
from pipelines.iree.presets import PRESETS
from pipelines.iree.targets import NO_KERNELS, target

LAYER = Path(torch.nn.__file__).with_name("modules") / "conv.py"
WRONG = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = linalg.softmax dimension(3) ins(%x : tensor<4xf32>) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


@pytest.fixture
def failed(monkeypatch, tmp_path):
    """Returns a function that runs Python code as the compiler, and returns the Error."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))

    def compile_with(code):
        def command(_module, descriptor, *_options):
            return [sys.executable, "-c", code, descriptor]

        monkeypatch.setattr(subject.children, "command", command)
        with pytest.raises(unmess.Error) as caught:
            subject.compile_text("module {}", ("--option=a b",), "model")
        return caught.value

    return compile_with


def test_compiler_crash_raises_an_error(failed):
    error = failed("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert error.stage == "compile"
    assert error.cause.startswith("IREE's compiler crashes with SIGSEGV")
    text = Path(error.repro).read_text()
    command = f"iree-compile '--option=a b' {error.repro} -o /dev/null"
    assert text.startswith(f"// {command}\nmodule {{}}")


def test_llvm_error_before_an_abort_is_the_cause(failed):
    error = failed(
        "import os, sys; print('LLVM ERROR: Cannot select: v4bf16', file=sys.stderr, flush=True); "
        "os.abort()"
    )
    assert "SIGABRT" in error.cause and "Cannot select: v4bf16" in error.cause


def test_killed_compiler_hints_at_memory(failed):
    assert "memory" in failed("import os, signal; os.kill(os.getpid(), signal.SIGKILL)").hint


def test_incomplete_diagnostic_is_ignored(failed):
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
def test_location_is_separated_from_the_message(text, where, message):
    assert subject._users_line(text) == where
    assert subject._message(text).splitlines()[0] == message


def test_reproducer_does_not_write_the_packer(monkeypatch, tmp_path):
    """The packer's file is temporary."""
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    options = splitting_options(tmp_path / "gone" / "packer.mlir")
    with pytest.raises(unmess.Error) as caught:
        subject.compile_text(WRONG, (*target("iree-cpu").options, *options), "model")
    command = Path(caught.value.repro).read_text().splitlines()[0]
    assert "--iree-parameter-encoder-output-file=/dev/null" in command
    assert "gone" not in command


def test_invalid_options_are_a_usage_error():
    with pytest.raises(unmess.Error, match="rejects its options") as caught:
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
def test_unknown_hardware_is_a_usage_error(runner, options):
    program = unmess.capture(torch.nn.ReLU(), (torch.randn(3),))
    with pytest.raises(unmess.Error, match="does not know the target 'abacus'") as caught:
        unmess.load(program, on=runner, target=options)
    assert caught.value.stage == "usage"


def test_reproducer_fails_with_the_same_error(tmp_path, monkeypatch):
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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("multiplies_bf16", [True, False])
def test_products_of_bf16_call_no_kernel_on_cpus_without_instructions(dtype, multiplies_bf16):
    module = unmess.lower(unmess.capture(torch.nn.Identity(), (torch.ones(2, dtype=dtype),)))
    own = replace(target("iree-cpu"), options=(), multiplies_bf16=multiplies_bf16)
    _, options = subject.input_for(module, own, PRESETS["data-tiling"])
    has_slow_kernel = dtype == torch.bfloat16 and not multiplies_bf16
    assert (NO_KERNELS in options) == has_slow_kernel
