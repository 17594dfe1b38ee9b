"""Tests debug mode: which steps are printed, and how steps that leave invalid IR are reported."""

import pytest
from torch_mlir import ir
from torch_mlir.dialects import torch as torch_d

from pipelines.debugging import debugging, is_debugging
from pipelines.pipeline import Pipeline, Step
from unmess.core.errors.error import Error

_SCALE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
_RELU = """
func.func @main(%x: !torch.vtensor<[2],f32>) -> !torch.vtensor<[2],f32> {
  %0 = torch.aten.relu %x : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
  return %0 : !torch.vtensor<[2],f32>
}
"""
_CLEAN = Pipeline("clean", "linalg", "hint", (Step("canonicalize", ""), Step("func.func(cse)", "")))


def parse(text=_SCALE):
    with ir.Context() as context:
        torch_d.register_dialect(context)
        return ir.Module.parse(text)


def break_types(module):
    """Changes the function's result type, so that its return no longer matches."""
    with module.context:
        function = module.body.operations[0]
        old = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        other = ir.Type.parse("tensor<5xf32>")
        new = ir.FunctionType.get(list(old.inputs), [other])
        function.attributes["function_type"] = ir.TypeAttr.get(new)


@pytest.mark.parametrize(
    ("wanted", "seen"),
    [
        ([], []),
        (["cse"], ["cse, clean"]),
        (["clean"], ["cse, clean"]),
        (["canonicalize", "clean"], ["canonicalize", "cse, clean"]),
        (["all"], ["canonicalize", "cse, clean"]),
    ],
)
def test_steps_are_shown_by_name(wanted, seen):
    shown = []
    with debugging(wanted, shown.append):
        assert is_debugging()
        _CLEAN.apply(parse())
    assert not is_debugging()
    assert [text.splitlines()[0].removeprefix("// After ") for text in shown] == seen


def test_output_without_a_writer_goes_to_stderr(capfd):
    with debugging(["clean"]):
        _CLEAN.apply(parse())
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("// After cse, clean\n") and "arith.addf" in err


def test_wanted_step_that_has_not_run_is_an_error():
    with (
        pytest.raises(Error, match="no step 'canonicalise' has run") as caught,
        debugging(["canonicalise", "cse"], lambda text: None),
    ):
        _CLEAN.apply(parse())
    assert caught.value.hint == "steps that have run: canonicalize, cse, clean"


def test_step_that_has_not_run_does_not_hide_another_error():
    with pytest.raises(ZeroDivisionError), debugging(["later"]):
        raise ZeroDivisionError


def test_error_names_the_step_that_left_invalid_ir():
    step = Step("break", "", break_types)
    step.apply(parse())  # Outside debug mode, nothing verifies it.
    with (
        debugging(),
        pytest.raises(Error, match=r"invalid after step break: .*type of return operand"),
    ):
        step.apply(parse())


def test_error_names_the_failed_step_without_verify_each(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path))
    contract = Step("torch-verify-linalg-on-tensors-backend-contract", "there is a torch operator")
    steps = (Step("cse", ""), contract, Step("canonicalize", ""))
    pipeline = Pipeline("failing", "compile", "hint", steps, verify_each=False)
    with pytest.raises(Error) as caught:
        pipeline.apply(parse(_RELU))
    assert caught.value.stage == "compile"
    assert caught.value.cause.endswith(f"(pass {contract.text})")
    with open(caught.value.repro) as file:
        assert f"--pass-pipeline='builtin.module({contract.text})' {file.name}\n" in file.readline()
