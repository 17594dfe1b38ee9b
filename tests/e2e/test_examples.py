"""The scripts in `examples` run, and their results match eager."""

import functools
import os
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def run(python_command):
    """Runs an example in `/`, so that it cannot depend on this folder. Returns its output."""

    @functools.cache
    def run(name, *arguments):
        environment = os.environ | {"COLUMNS": "100"}
        done = python_command(EXAMPLES / f"{name}.py", *arguments, cwd="/", env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def differences(output):
    found = re.findall(r"largest difference (?:from eager )?([0-9.e+-]+)", output)
    return [float(text) for text in found]


@pytest.mark.parametrize(
    "name", ["nnmodule", "torchvision_network", "transformer", "training_step"]
)
def test_example(run, name):
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) < 40
    output = run(name)
    assert len(differences(output)) >= 2
    assert max(differences(output)) < 1e-4
    assert "func.func @main" in output or "linalg.conv_2d_nchw_fchw" in output
    assert max(map(len, output.splitlines())) < 3000, "the IR holds no weights"


def test_bundle(run):
    output = run("bundle")
    assert "PyTorch is not imported" in output and "module.vmfb" in output
    assert max(differences(output)) < 1e-5


def test_user_pass(run):
    output = run("user_pass")
    assert "mylib.swish.default is an unknown operator" in output
    assert max(differences(output)) < 1e-6


def test_generate(run):
    assert len((EXAMPLES / "generate.py").read_text().splitlines()) < 40
    verdicts = [line.split()[:2] for line in run("generate").splitlines()]
    assert verdicts == [["reference", "same"], ["iree-cpu", "same"]]


def test_nnmodule_shows_three_stages(run):
    output = run("nnmodule")
    for stage, operation in (
        ("raw", "torch.aten.mm"),
        ("torch", "torch.aten.sum.dim_IntList"),
        ("linalg", "linalg.conv_2d_nchw_fchw"),
    ):
        section = output.split(f"// ----- {stage}\n")[1].split("// -----")[0]
        assert operation in section
        assert "%conv.weight" in section


def test_demo(run):
    output = run("demo")
    rows = [line.split() for line in output.splitlines() if line.rstrip().endswith("yes")]
    assert [row[:2] for row in rows] == [
        [model, runner]
        for model in ("nnmodule.py", "resnet18", "MiniLM-L6-v2")
        for runner in ("reference", "iree-cpu")
    ]
    assert all(float(row[-2]) < 1e-4 for row in rows)
    similar = re.findall(r"^  (\S+) +(\S+) 'Somebody compiles.*'  (\S+) 'The soup", output, re.M)
    assert [on for on, *_ in similar] == ["eager", "reference", "iree-cpu"]
    related, unrelated = float(similar[0][1]), float(similar[0][2])
    assert related > 0.3 > 0.1 > unrelated, "real weights know which sentence is close"
    for _, *values in similar:
        assert [float(value) for value in values] == pytest.approx([related, unrelated], abs=1e-5)
