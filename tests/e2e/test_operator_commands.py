"""`unmess ops`, `unmess schema` and `unmess repairs`."""

import json

import pytest

from unmess.__main__ import main

MODEL = """
import torch


def nothing_lowers(x):
    y = torch.linalg.eigvalsh(x @ x.T)
    return torch.special.bessel_j0(y) + torch.special.bessel_j0(y), torch.addmv(y, x, y)


nothing_lowers.example_args = (torch.eye(3),)


def all_lowers(x):
    return x.relu() + 1


all_lowers.example_args = (torch.ones(3),)
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setenv("UNMESS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "models.py"
    path.write_text(MODEL)
    return path


def run(capfd, *arguments):
    status = main([*arguments, "-q"])
    return status, capfd.readouterr().out


def test_every_operator_that_does_not_lower_at_once(file, capfd, monkeypatch):
    status, out = run(capfd, "ops", f"{file}:nothing_lowers", "--json")
    assert status == 3
    answer = json.loads(out)
    assert not answer["ok"]
    bad = {entry["operator"]: entry for entry in answer["operators"] if not entry["ok"]}
    assert set(bad) == {
        "aten._linalg_eigh.default",
        "aten.special_bessel_j0.default",
        "aten.addmv.default",
    }
    bessel = bad["aten.special_bessel_j0.default"]
    assert (bessel["count"], bessel["operands"]) == (2, ["3xfloat32"])
    assert bessel["where"] == [f"{file}:7"]
    assert bessel["stage"] == "torch" and "special_bessel_j0" in bessel["cause"]
    assert bessel["repro"] and bessel["decomposition"] is None
    assert bad["aten.addmv.default"]["decomposition"] == (
        "torch._decomp.decomposition_table[torch.ops.aten.addmv.default]"
    )

    # A second time, the answers come from the cache.
    def fail(*_arguments):
        raise AssertionError("tried again")

    monkeypatch.setattr("unmess.probe.operators._try", fail)
    status, out = run(capfd, "ops", f"{file}:nothing_lowers")
    assert status == 3
    assert f"  at: {file}:6\n" in out
    assert "3 of 6 distinct calls do not lower to linalg" in out

    # Code of ours that has changed may give others.
    monkeypatch.setattr("unmess.probe.operators._SOURCES", "others")
    status, out = run(capfd, "ops", f"{file}:nothing_lowers")
    assert status == 3
    assert "6 of 6 distinct calls do not lower to linalg" in out


def test_a_model_that_lowers(file, capfd):
    status, out = run(capfd, "ops", f"{file}:all_lowers", "--to", "tosa", "-v")
    assert status == 0
    assert "aten.relu.default (3xfloat32) -> 3xfloat32, 1 times" in out
    assert "0 of 2 distinct calls do not lower to tosa" in out


def test_all_entry_points_of_a_model(capfd):
    # The length of the cache is a number that is read from a tensor.
    status, out = run(capfd, "ops", "hf:llama#generate", "-v")
    assert status == 0
    assert "aten._local_scalar_dense.default (int64) -> , 2 times" in out
    # Of prefill and of decode.
    assert "aten.embedding.default (512x64xfloat32, 1x?xint64) -> 1x?x64xfloat32, 1 times" in out
    assert "aten.embedding.default (512x64xfloat32, 1x1xint64) -> 1x1x64xfloat32, 1 times" in out


def test_inputs_and_dynamic_sizes(file, capfd):
    status, out = run(
        *(capfd, "ops", f"{file}:all_lowers", "-v"),
        *("--input", "2x3xf64", "--dynamic", "x.0=N:1..8"),
    )
    assert status == 0
    assert "aten.relu.default (?x3xfloat64) -> ?x3xfloat64, 1 times" in out


def test_a_crash_costs_one_operator(file, capfd, monkeypatch):
    import os
    import signal

    from unmess.probe import operators

    real = operators._try

    def crash_at_relu(call, exit_):
        if "relu" in call.operator:
            os.kill(os.getpid(), signal.SIGSEGV)
        return real(call, exit_)

    monkeypatch.setattr(operators, "_try", crash_at_relu)
    status, out = run(capfd, "ops", f"{file}:all_lowers", "--json")
    assert status == 3
    found = {entry["operator"]: entry for entry in json.loads(out)["operators"]}
    assert found["aten.relu.default"]["cause"] == "crashed with SIGSEGV"
    assert found["aten.add.Tensor"]["ok"]


def test_schema(capfd):
    status, out = run(capfd, "schema", "aten::histc", "--json")
    assert status == 0
    answer = json.loads(out)
    assert answer["schema"].startswith("aten::histc(Tensor self, int bins=100")
    assert "aten::histc.out" in answer["overloads"]
    floats, integers = answer["trials"]
    assert floats["imports"] and floats["decomposes"]
    assert floats["lowers"] == {"linalg": True, "tosa": True, "stablehlo": True}
    assert integers["arguments"] is None


def test_schema_of_an_operator_that_stops(capfd):
    status, out = run(capfd, "schema", "aten::special_bessel_j0")
    assert status == 0
    assert "imports yes, linalg no, tosa no, stablehlo no" in out
    assert "torch: no lowering for aten.special_bessel_j0" in out


def test_schema_of_an_unknown_operator(capfd):
    status, out = run(capfd, "schema", "aten::ad.Tensor", "--json")
    assert status == 2
    assert "aten::add.Tensor" in json.loads(out)["hint"]


def test_repairs(capfd):
    status, out = run(capfd, "repairs", "--json")
    assert status == 0
    listed = json.loads(out)
    assert {entry["kind"] for entry in listed} == {"decomposition", "rewrite", "import"}
    assert all(entry["name"] and entry["mends"] and entry["reason"] for entry in listed)
    by_name = {entry["name"]: entry for entry in listed}
    assert by_name["symbolic view"]["upstream"].endswith("/issues/4743")
    status, out = run(capfd, "repairs")
    assert status == 0
    assert "  histogram: aten::histc.default\n" in out
