"""Tests of `unmess ops`, `unmess schema` and `unmess repairs`."""

import json

import pytest

MODEL = """
import torch


def nothing_lowers(x):
    y = torch.ops.test_ops.negated(x)
    return torch.linalg.eigvals(x) + torch.linalg.eigvals(x), torch._addmm_activation(x[0], y, y)


nothing_lowers.example_args = (torch.eye(3),)


def all_lowers(x):
    return x.relu() + 1


all_lowers.example_args = (torch.ones(3),)


@torch.library.custom_op("test_ops::negated", mutates_args=())
def negated(x: torch.Tensor) -> torch.Tensor:
    return -x


@negated.register_fake
def _(x):
    return torch.empty_like(x)
"""


# Appended to the models. The worker that loads the models executes it.
PATCH = """
import os, signal
from unmess.probe import answers, examining

try_it = examining._try

def crash(*_arguments):
    os.kill(os.getpid(), signal.SIGSEGV)

def crash_at_relu(call, dialect):
    return crash() if "relu" in call.operator else try_it(call, dialect)

examining.{}
"""


def patch(file, assignment):
    """Patches the code that tries operators. The line numbers of the models stay the same."""
    file.write_text(MODEL + PATCH.format(assignment))


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "models.py"
    path.write_text(MODEL)
    return path


@pytest.fixture
def run(unmess_command):
    """A function that runs a command line and returns its exit status and output."""

    def run(*arguments):
        done = unmess_command(*arguments, "-q")
        return done.returncode, done.stdout

    return run


def test_ops_lists_all_operators_that_do_not_lower(file, run):
    status, out = run("ops", f"{file}:nothing_lowers", "--json")
    assert status == 3
    answer = json.loads(out)
    assert not answer["ok"]
    bad = {entry["operator"]: entry for entry in answer["operators"] if not entry["ok"]}
    assert set(bad) == {
        "test_ops.negated.default",
        "aten.linalg_eig.default",
        "aten._addmm_activation.default",
    }
    eigenvalues = bad["aten.linalg_eig.default"]
    assert (eigenvalues["count"], eigenvalues["operands"]) == (2, ["3x3xfloat32"])
    assert eigenvalues["where"] == [f"{file}:7"]
    assert eigenvalues["stage"] == "torch" and "linalg_eig" in eigenvalues["cause"]
    assert eigenvalues["repro"] and eigenvalues["decomposition"] is None
    assert bad["aten._addmm_activation.default"]["decomposition"] == (
        "torch._decomp.decomposition_table[torch.ops.aten._addmm_activation.default]"
    )

    # The second run takes the results from the cache.
    patch(file, "_try = None")
    status, out = run("ops", f"{file}:nothing_lowers")
    assert status == 3
    assert f"  at: {file}:6\n" in out
    assert "3 of 8 distinct calls do not lower to linalg" in out

    # A change of this project's own sources invalidates the cache.
    patch(file, "_try, answers._SOURCES = None, 'others'")
    status, out = run("ops", f"{file}:nothing_lowers")
    assert status == 3
    assert "8 of 8 distinct calls do not lower to linalg" in out


def test_a_model_that_lowers(file, run):
    status, out = run("ops", f"{file}:all_lowers", "--to", "tosa", "-v")
    assert status == 0
    assert "aten.relu.default (3xfloat32) -> 3xfloat32, 1 times" in out
    assert "0 of 2 distinct calls do not lower to tosa" in out


def test_all_entry_points_of_a_model(run):
    # The program reads the length of the key-value cache from a tensor.
    status, out = run("ops", "hf:llama#generate", "-v")
    assert status == 0
    assert "aten._local_scalar_dense.default (int64) -> , 2 times" in out
    # One line for prefill and one for decode.
    assert "aten.embedding.default (512x64xfloat32, 1x?xint64) -> 1x?x64xfloat32, 1 times" in out
    assert "aten.embedding.default (512x64xfloat32, 1x1xint64) -> 1x1x64xfloat32, 1 times" in out


def test_inputs_and_dynamic_sizes(file, run):
    status, out = run(
        *("ops", f"{file}:all_lowers", "-v"),
        *("--input", "2x3xf64", "--dynamic", "x.0=N:1..8"),
    )
    assert status == 0
    assert "aten.relu.default (?x3xfloat64) -> ?x3xfloat64, 1 times" in out


def test_a_crash_affects_one_operator_only(file, run):
    patch(file, "_try = crash_at_relu")
    status, out = run("ops", f"{file}:all_lowers", "--json")
    assert status == 3
    found = {entry["operator"]: entry for entry in json.loads(out)["operators"]}
    assert found["aten.relu.default"]["cause"] == "crashed with SIGSEGV"
    assert found["aten.add.Tensor"]["ok"]


def test_a_crash_before_operators_are_tried(file, run):
    patch(file, "distinct_calls = crash")
    status, out = run("ops", f"{file}:all_lowers", "--json")
    assert status == 3
    answer = json.loads(out)
    assert (answer["stage"], answer["error"]) == ("capture", "crashed with SIGSEGV")


def test_schema(run):
    status, out = run("schema", "aten::histc", "--json")
    assert status == 0
    answer = json.loads(out)
    assert answer["schema"].startswith("aten::histc(Tensor self, int bins=100")
    assert "aten::histc.out" in answer["overloads"]
    floats, integers = answer["trials"]
    assert floats["imports"] and floats["decomposes"]
    assert floats["lowers"] == {"linalg": True, "tosa": True, "stablehlo": True}
    assert integers["arguments"] is None


def test_schema_of_an_operator_that_does_not_lower(run):
    status, out = run("schema", "aten::linalg_eig")
    assert status == 0
    assert "imports yes, linalg no, tosa no, stablehlo no" in out
    assert "torch: no lowering for aten.linalg_eig" in out


def test_schema_of_an_unknown_operator(run):
    status, out = run("schema", "aten::ad.Tensor", "--json")
    assert status == 2
    assert "aten::add.Tensor" in json.loads(out)["hint"]


def test_repairs(run):
    status, out = run("repairs", "--json")
    assert status == 0
    listed = json.loads(out)
    assert {entry["kind"] for entry in listed} == {"decomposition", "rewrite", "import"}
    assert all(entry["name"] and entry["mends"] and entry["reason"] for entry in listed)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["symbolic view"]["upstream"].endswith("/issues/4743")
    status, out = run("repairs")
    assert status == 0
    assert "  histogram: aten::histc.default\n" in out
    assert by_name["histogram"]["issue"] == "missing-operators"
    status, out = run("repairs", "--issue", "missing-operators")
    assert status == 0 and "from torch_mlir import fx" in out
    status, out = run("repairs", "--issue", "missing-operator")
    assert status == 2
