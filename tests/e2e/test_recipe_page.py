"""`unmess recipe`: the page of a user's own model; its commands work."""

import re
import shlex
from pathlib import Path

import pytest

from unmess.matrix.cells import Shard
from unmess.matrix.folder import opened
from unmess.row import Row

CRASH = f"{Path(__file__).parents[1] / 'shared' / 'failing_backends.py'}:Crash"
MODELS = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(4, 8))
        self.second = torch.nn.Parameter(torch.randn(8, 3))
        self.bias = torch.nn.Parameter(torch.randn(3))

    def forward(self, image):
        hidden = torch.relu(image @ self.first)
        return (hidden * hidden) @ self.second + self.bias


class Eigenvalues(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.eig(x)[0].abs()


def model():
    return Net().eval(), (torch.randn(2, 4),)


def eigenvalues():
    return Eigenvalues().eval(), (torch.randn(4, 4),)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "net.py").write_text(MODELS)
    return tmp_path


def cells(page, title):
    """Returns the cells of the first table of a section."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", page, re.M | re.S)[1]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows[2:]]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def test_page_of_a_model_and_its_commands(folder, unmess_command, python_command):
    runners = f"reference,iree-cpu,{CRASH}"
    done = unmess_command(
        *("recipe", "net.py", "-o", "page.md", "--on", runners, "--via", "default"), cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    page = (folder / "page.md").read_text()

    inputs, *results = cells(page, "Inputs and results")
    assert inputs == ["input", "`image`", "2×4", "float32"]
    assert [each[2:] for each in results] == [["2×3", "float32"]]
    assert cells(page, "Size and cost")[0] == ["parameters", "3", "59", "236 B"]
    # Two matrix products of 2 rows: 2·2·4·8 and 2·2·8·3 operations, plus the elementwise ones.
    cost = re.search(r"one call: (\d+) FLOP", page)
    assert cost, page
    flops = int(cost[1])
    assert 128 + 96 < flops < 500

    stages = cells(page, "IR")
    assert [stage for stage, *_ in stages] == ["raw", "torch", "linalg", "tosa", "stablehlo"]
    for stage, operations, _ in stages:
        assert operations.startswith("torch " if stage == "raw" else f"{stage} ")
    assert len(blocks(page, "mlir")) == len(stages)
    assert all("%image" in block for block in blocks(page, "mlir"))

    # The crash costs one row.
    found = {row[0].strip("`"): row[2] for row in cells(page, "Results")}
    assert found.pop(CRASH) == "stops in compile"
    assert "**compile: crashed with SIGSEGV in stage compile**" in page
    assert list(found) == ["reference", "iree-cpu"]
    for result in found.values():
        error = result.removeprefix("matches: ")
        assert error == "equal" or float(error) < 1e-6
    tried = cells(page, "Dynamic dimensions")
    assert [row[0] for row in tried] == ["`reference`", "`iree-cpu`"]
    assert all(row[2].startswith("matches: ") for row in tried)
    assert "`reference`: batch=3: matches" in page

    (commands,) = blocks(page, "sh")
    lines = [line for line in commands.splitlines() if not line.startswith("#")]
    verbs = [line.split()[1] for line in lines]
    assert verbs == [*["import"] * 3, "run", "check", "check", "analyze", "package"]
    for line in lines:
        program, *arguments = shlex.split(line)
        ran = unmess_command(*arguments, cwd=folder)
        assert (program, ran.returncode) == ("unmess", 0), f"{line}\n{ran.stderr}"
    (python,) = blocks(page, "python")
    (folder / "build.py").write_text(f"{python}\nprint(program.strategy)\n")
    ran = python_command("build.py", cwd=folder)
    assert ran.returncode == 0, ran.stderr
    assert f"The capture strategy `{ran.stdout.strip()}` captures it" in page


def test_a_stage_that_fails_is_part_of_the_page(folder, unmess_command):
    model = "net.py:eigenvalues"
    row = Row(model, "reference", False, "torch", "no lowering for aten.linalg_eig", via="tosa")
    with opened(folder / "matrix", Shard(), {}) as matrix:
        matrix.add(row)
    done = unmess_command("recipe", model, "--results", "matrix", cwd=folder)
    assert done.returncode == 0, done.stderr
    page = done.stdout
    assert f"Written by `unmess recipe {model} --results matrix`" in page
    results = {stage: found for stage, found, _ in cells(page, "IR")}
    assert results.pop("raw").startswith("torch ")
    assert set(results.values()) == {"[stops in torch](#failures)"}
    assert re.search(r"\*\*torch: no lowering for aten\.linalg_eig.*\*\*", page)
    line = "return torch.linalg.eig(x)[0].abs()"
    number = MODELS.splitlines().index(f"        {line}") + 1
    assert f"net.py:{number}`: `{line}`" in page
    assert [row[:3] for row in cells(page, "Results")] == [
        ["`reference`", "tosa", "stops in torch"]
    ]
    assert "unmess check net.py:eigenvalues --on reference --via tosa" in page
    assert blocks(page, "sh") == []
    # The change that the page explains.
    assert "| repair: complex numbers as pairs (1 times) | torch-mlir lowers few operators" in page


def test_a_model_that_does_not_exist_is_an_error(folder, unmess_command):
    done = unmess_command("recipe", "net.py:modell", "-o", "page.md", "-q", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.startswith("source: net.py has no modell\n")
    assert len(done.stderr.splitlines()) == 2
    assert not (folder / "page.md").exists()
