"""Tests that `unmess corpus` writes the same bytes twice, and that the replay finds changes."""

import json
import shutil

import numpy as np
import pytest
import torch
from pyarrow import Table, parquet

from unmess.corpus.tensors import make
from unmess.corpus.writing import read_table

MODELS = """
import ctypes

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.norm = nn.BatchNorm1d(8)
        self.low = nn.Linear(8, 4, dtype=torch.bfloat16)
        self.register_buffer("places", torch.arange(4))
        self.register_buffer("table", torch.tensor([1.0, -torch.inf, 0.5, 2.0]))

    def forward(self, input_ids, mask, scale):
        x = (self.tokens(input_ids) * mask.unsqueeze(-1) * scale).sum(1)
        # Export lifts the tensor from the graph. It is a constant of the IR.
        x = self.low(self.norm(x + torch.tensor([0.5])).bfloat16()).float()
        return torch.softmax(x, -1), torch.maximum(x, self.table), x.argmax(-1) + self.places[1]


def network():
    mask = torch.tensor([[True, True, False], [True, False, False]])
    return Network().eval(), (torch.randint(0, 11, (2, 3)), mask, 0.5)


class Eigenvalues(nn.Module):
    def forward(self, x):
        return torch.linalg.eig(x).eigenvalues


def eigenvalues():
    return Eigenvalues(), (torch.randn(2, 3, 3),)


class Crash(nn.Module):
    def forward(self, x):
        ctypes.string_at(0)
        return x


def crash():
    return Crash(), (torch.randn(4, 4),)
"""
NAMES = ("network", "eigenvalues", "crash")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "models.py").write_text(MODELS)
    return folder


@pytest.fixture(scope="module")
def written(folder, unmess_command):
    """Writes a corpus, and another one as if an earlier run had been interrupted."""
    options = [f"--models=models.py:{name}" for name in NAMES]
    first = unmess_command("corpus", "--json", *options, "-o", "one", cwd=folder)
    (folder / "two" / "parts").mkdir(parents=True)
    for path in (folder / "one" / "parts").glob("*-static-*"):
        shutil.copy(path, folder / "two" / "parts")
    second = unmess_command("corpus", "--jobs", "1", *options[::-1], "-o", "two", cwd=folder)
    return first, second


def test_two_runs_write_the_same_bytes(folder, written):
    first, second = written
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert "3 of 6 variants are in two already" in second.stderr
    files = [sorted(path for path in (folder / name).rglob("*.*")) for name in ("one", "two")]
    names = [[path.name for path in each] for each in files]
    assert names[0] == names[1] and len(names[0]) == 6 + 4
    for one, two in zip(*files, strict=True):
        assert one.read_bytes() == two.read_bytes(), one.name


def test_failures_are_rows(folder, written):
    document = json.loads(written[0].stdout)
    assert document["ok"] and document["models"] == 3
    programs = read_table(folder / "one", "programs")
    found = {
        (row["model"].split(":")[1], row["stage"]): (row["failed_stage"], row["cause"])
        for row in programs
        if row["variant"] == "static"
    }
    assert found["network", "linalg"] == (None, None)
    assert found["eigenvalues", "torch"][0] == "torch"
    assert "aten.linalg_eig" in found["eigenvalues", "torch"][1]
    # All programs of a model that crashes have the same failure.
    stage, cause = found["crash", "tosa"]
    assert found["crash", "linalg"] == (stage, cause)
    assert stage is not None and "SIGSEGV" in cause
    assert all((row["text"] is None) == (row["status"] == "failed") for row in programs)
    text = "".join(row["text"] or "" for row in programs)
    assert str(folder) not in text and "loc(" not in text


def test_eager_gives_the_expected_results_for_the_arguments_in_the_tables(folder, written):
    rows = read_table(folder / "one", "models")
    row = next(
        row for row in rows if row["model"].endswith("network") and row["variant"] == "static"
    )
    arguments = {
        each["name"]: make(
            json.loads(each["made"]), each["shape"], each["dtype"], each["seed"], each["data"]
        )
        for each in row["arguments"]
    }
    kinds = {each["name"]: json.loads(each["made"])["kind"] for each in row["arguments"]}
    assert kinds["input_ids"] == "integers" and kinds["mask"] == "data"
    assert kinds["tokens.weight"] == "normal" and kinds["places"] == "arange"
    assert arguments["norm.running_var"].min() == 1 and np.isinf(arguments["table"]).sum() == 1
    scope = {}
    exec(MODELS, scope)
    model, _ = scope["network"]()
    state = {
        name: torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        if value.dtype == np.uint16
        else torch.from_numpy(value.copy())
        for name, value in arguments.items()
        if name in model.state_dict()
    }
    model.load_state_dict(state, strict=False)
    inputs = [torch.from_numpy(arguments[name].copy()) for name in ("input_ids", "mask")]
    with torch.no_grad():
        results = model(*inputs, 0.5)
    assert [list(result.shape) for result in results] == [each["shape"] for each in row["expected"]]
    for result, expected in zip(results, row["expected"], strict=True):
        assert result.double().mean().item() == pytest.approx(expected["mean"], rel=1e-5)
        assert result.double().max().item() == pytest.approx(expected["max"], rel=1e-5)


def test_kernels_and_models_are_replayed(folder, written, unmess_command):
    done = unmess_command("corpus", "verify", "one", "--all", "--json", cwd=folder)
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["ok"], done.stdout
    assert [each["result"] for each in document["programs"]] == ["right", "right"]
    results = [each["result"] for each in document["kernels"]]
    assert len(results) > 20 and results.count("right") == len(results), document["kernels"]


def test_a_changed_corpus_is_wrong(folder, written, unmess_command):
    changed = folder / "changed"
    changed.mkdir()
    for path in (folder / "one").glob("*.parquet"):
        table = parquet.read_table(path)
        rows = table.to_pylist()
        if path.name.startswith("models"):
            for each in (result for row in rows for result in row["expected"]):
                each.update(sha256="", mean=each["mean"] + 1)
        if path.name.startswith("kernels"):
            for row in rows:
                row["text"] = row["text"].replace("@kernel(", "@kernel (")
        parquet.write_table(Table.from_pylist(rows, table.schema), changed / path.name)
    done = unmess_command(
        "corpus", "verify", "changed", "--sample", "2", "--programs", "1", cwd=folder
    )
    assert done.returncode == 1
    assert "the text has another SHA-256" in done.stdout and "mean" in done.stdout


def test_croissant_describes_the_files(folder, written):
    document = json.loads((folder / "one" / "croissant.json").read_text())
    sets = {each["@id"]: each for each in document["recordSet"]}
    assert list(sets) == ["models", "programs", "kernels"]
    for table, described in sets.items():
        (path,) = (folder / "one").glob(f"{table}-*.parquet")
        columns = [each["@id"].split("/")[1] for each in described["field"]]
        assert columns == parquet.read_schema(path).names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--models", "models.py:network", "--seed", "1", "-o", "one"),
            "one has results of seed 0, which differs now",
        ),
        (("--models", "models.py:network", "-o", "models.py"), "Not a directory"),
        (("verify", "models.py"), "has no table of kernels"),
    ],
)
def test_errors(folder, written, unmess_command, arguments, message):
    done = unmess_command("corpus", *arguments, cwd=folder)
    assert done.returncode == 2 and message in done.stderr
    assert "Traceback" not in done.stderr
