"""Tests backends of users: the protocol in Python, and how they are found."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from numpy_backend import Broken, Inline, NumpyBackend, Overwrites

import unmess
from pipelines.backends import finding, table
from pipelines.backends.executable import Executable
from pipelines.backends.results import checked_results
from unmess.cli import cli

FILE = Path(__file__).parents[1] / "shared/numpy_backend.py"


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(8, 3))

    def forward(self, x):
        return torch.relu(x @ self.weight), x * x


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total.add_(x)
        return self.total * x


@pytest.fixture
def registered():
    before = dict(table.REGISTERED)
    for backend in (NumpyBackend, Inline, Broken, Overwrites):
        unmess.register_backend(backend)
    yield
    table.REGISTERED.clear()
    table.REGISTERED.update(before)


@pytest.mark.parametrize("on", ["numpy", "numpy-inline"])
def test_a_registered_backend_is_checked_like_others(registered, on):
    program = unmess.capture(Layer().eval(), (torch.randn(2, 8),))
    report = unmess.check(program, on=on)
    assert report.ok, report.error
    assert report.runner == on
    assert {"lower", "compile", "load", "run", "eager"} <= report.seconds.keys()
    assert any(note.kind == "unchecked" for note in report.notes)


def test_a_backend_that_writes_an_argument_is_wrong(registered):
    program = unmess.capture(lambda x: torch.relu(x), (torch.randn(2, 8),))
    report = unmess.check(program, on="overwrites")
    assert report.error == "argument[0]: the call has changed it"


@pytest.mark.parametrize("on", ["numpy", "numpy-inline"])
def test_state_is_kept_between_calls(registered, on):
    program = unmess.capture(Counter(), (torch.ones(3),))
    assert unmess.check(program, on=on).ok
    run = unmess.load(program, on=on)
    assert run(torch.ones(3)).tolist() == [1, 1, 1]
    assert run(2 * torch.ones(3)).tolist() == [6, 6, 6]
    assert run.state["total"].tolist() == [3, 3, 3]


class Entries(NumpyBackend):
    """Keeps the names of the entry functions that it gets."""

    name = "entries"
    names = ()

    def compile(self, module, folder):
        self.names += (module.entry, "@main(" in module.text())
        return super().compile(module, folder)


def test_the_only_entry_function_is_called_main(registered):
    x = torch.randn(3)
    module = unmess.combine({"twice": unmess.capture(lambda x: x + x, (x,))}).to_module()
    backend = Entries()
    assert torch.equal(Executable(module, backend).twice(x), x + x)
    assert backend.names == ("main", True)


def test_entry_points_are_compiled_one_by_one(registered):
    model, x = Layer().eval(), torch.randn(2, 8)
    programs = {
        "both": unmess.capture(model, (x,)),
        "twice": unmess.capture(lambda x: x + x, (x,)),
    }
    combined = unmess.combine(programs)
    run = unmess.load(combined, on="numpy")
    assert torch.equal(run.twice(x), x + x)
    assert torch.allclose(run.both(x)[0], model(x)[0], atol=1e-6)
    assert unmess.check(combined, on="numpy").ok


def test_a_file_names_a_backend(tmp_path):
    file = tmp_path / "model.py"
    file.write_text(
        "import torch\ndef model():\n    return lambda x: torch.relu(x * x), (torch.randn(4),)\n"
    )
    done = CliRunner().invoke(
        cli,
        ["check", str(file), "--on", f"{FILE}:NumpyBackend,{FILE}:Broken", "--json"],
        standalone_mode=False,
    )
    right, broken = json.loads(done.stdout)
    assert right["ok"], right
    assert right["runner"] == f"{FILE}:NumpyBackend"
    assert (broken["stage"], broken["ok"]) == ("run", False)
    assert "numpy-broken fails: ZeroDivisionError: no reason" in broken["error"]


def test_targets_lists_registered_backends(registered):
    from unmess.environment.targets import _other

    assert _other("numpy").device == "this machine"
    assert _other("numpy").runs


def test_an_unsupported_operation_is_an_error_of_the_backend(registered):
    with pytest.raises(unmess.Error, match=r"no torch\.aten\.sin") as caught:
        unmess.load(unmess.capture(torch.sin, (torch.ones(2),)), on="numpy")
    assert caught.value.stage == "compile"


def test_an_installed_package_adds_a_backend(monkeypatch):
    class Point:
        def load(self):
            return NumpyBackend

    monkeypatch.setattr(table, "installed", lambda: {"theirs": Point()})
    monkeypatch.setattr(finding, "installed", table.installed)
    assert "theirs" in table.runner_names()
    program = unmess.capture(lambda x: x * x, (torch.ones(2),))
    assert unmess.load(program, on="theirs")(torch.full((2,), 3.0)).tolist() == [9, 9]


@pytest.mark.parametrize(
    ("on", "cause"),
    [
        ("nothing", "unknown runner 'nothing'"),
        ("missing.py:Name", "no file missing.py"),
        (f"{FILE}:Missing", "has no backend Missing"),
        (f"{FILE}:np", "is not a backend: name, input, compile are missing"),
    ],
)
def test_wrong_names_are_usage_errors(on, cause):
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.load(unmess.capture(torch.sin, (torch.ones(2),)), on=on)
    assert caught.value.stage == "usage"


def test_a_built_in_name_cannot_be_taken():
    backend = NumpyBackend()
    backend.name = "reference"
    with pytest.raises(unmess.Error, match="belongs to a built-in backend"):
        unmess.register_backend(backend)


class Static:
    """Returns the same memory in each call, and a view of its argument."""

    name = "static"
    input = unmess.BackendInput(tensors="numpy")

    def compile(self, module, folder):
        return np.zeros(2, "f4")

    def load(self, artifact):
        def run(x):
            np.multiply(x[:2], 2, out=artifact)
            return artifact, x[1:]

        return run


def test_results_own_their_memory():
    module = unmess.lower(unmess.capture(lambda x: (x[:2] * 2, x[1:]), (torch.ones(3),)))
    run = Executable(module, Static())
    x = torch.ones(3)
    first, rest = run(x)
    run(torch.zeros(3))
    x.zero_()
    assert (first.tolist(), rest.tolist()) == ([2, 2], [1, 1])


@pytest.mark.parametrize(
    ("name", "value", "cause"),
    [
        ("tolerances", {"f16": 0.1}, "declares the tolerance 0.1 for 'f16'"),
        ("tolerances", {"float32": float("inf")}, "declares the tolerance inf"),
        ("tolerances", 0.1, "declares the tolerance 0.1"),
        ("numerics", "exact", "numerics must be an unmess.Numerics"),
    ],
)
def test_wrong_declarations_are_usage_errors(name, value, cause):
    with pytest.raises(unmess.Error, match=cause):
        unmess.register_backend(type("Wrong", (NumpyBackend,), {name: value}))


def test_a_file_may_define_dataclasses_and_must_create_its_backend(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\nimport unmess\n\n"
        "@dataclass\nclass Mine:\n"
        "    name: str = 'mine'\n    input = unmess.BackendInput()\n"
        "    def compile(self, module, folder): pass\n    def load(self, artifact): pass\n\n"
        "class Failing(Mine):\n    def __init__(self): raise KeyError('license')\n"
    )
    assert finding.find_backend(f"{file}:Mine").name == "mine"
    with pytest.raises(unmess.Error, match="Failing cannot be created: KeyError: 'license'"):
        finding.find_backend(f"{file}:Failing")


X = torch.ones(2, 3)
SIGNATURE = unmess.capture(lambda x: (x.sum(0), x > 0), (X,)).signature
RIGHT = (X.sum(0), X > 0)


@pytest.mark.parametrize(
    ("results", "cause"),
    [
        (RIGHT[0], "1 results, the program has 2"),
        (None, "a NoneType in place of 2 results"),
        ((*RIGHT, X), "3 results, the program has 2"),
        ((X.sum(0).double(), X > 0), "result 0 has dtype torch.float64"),
        ((X, X > 0), "result 0 has rank 2"),
        ((X.sum(1), X > 0), r"result 0.shape\[0\] is 2, expected 3"),
        (("text", X > 0), "result 0 is a str"),
        ((np.array(["a", "b", "c"]), X > 0), "result 0 is a ndarray"),
    ],
)
def test_garbage_output_is_an_error(results, cause):
    results = [results] if isinstance(results, torch.Tensor) else results
    with pytest.raises(unmess.Error, match=f"garbage output: {cause}") as caught:
        checked_results(results, SIGNATURE)
    assert caught.value.stage == "run"


def test_arrays_and_bytes_become_tensors_of_the_signature():
    found = checked_results((np.array([2, 2, 2], ">f4"), np.ones((2, 3), "i1")), SIGNATURE)
    assert [each.dtype for each in found] == [torch.float32, torch.bool]
    assert torch.equal(found[0], RIGHT[0]) and torch.equal(found[1], RIGHT[1])


def test_bfloat16_arrays_are_bits():
    signature = unmess.capture(lambda x: x * 2, (X.bfloat16(),)).signature
    bits = (2 * X).bfloat16().view(torch.uint16).numpy()
    assert torch.equal(checked_results(bits, signature)[0], (2 * X).bfloat16())
