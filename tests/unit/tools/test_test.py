"""Tests the test driver: its parts are tasks, and the tests that it names exist."""

import ast
import shlex
import tomllib

import pytest
from click.testing import CliRunner

from tools import test as subject


def tasks():
    return tomllib.loads((subject.ROOT / "pixi.toml").read_text())["tasks"]


def test_every_part_is_a_task():
    assert tasks().keys() >= {*subject.ALL, *subject.FAST}


def test_every_folder_of_tests_is_in_a_part():
    commands = " ".join(tasks()[name]["cmd"] for name in subject.ALL)
    folders = [path.name for path in (subject.ROOT / "tests").iterdir() if path.is_dir()]
    for folder in set(folders) - {"__pycache__", "shared"}:
        assert f"tests/{folder}" in shlex.split(commands)


@pytest.mark.parametrize("name", subject.FAST_END_TO_END)
def test_a_fast_test_exists(name):
    file, function = name.split("::")
    tree = ast.parse((subject.ROOT / "tests" / "e2e" / file).read_text())
    assert function in [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("failing", [None, "lit"])
def test_every_part_runs_whatever_fails(monkeypatch, failing):
    ran = []

    def run(command, shell, cwd):
        ran.append(command)
        failed = failing is not None and command == tasks()[failing]["cmd"]
        return subject.subprocess.CompletedProcess(command, 3 if failed else 0)

    monkeypatch.setattr(subject.subprocess, "run", run)
    done = CliRunner().invoke(subject.main, [])
    assert ran == [tasks()[name]["cmd"] for name in subject.ALL]
    assert done.exit_code == (3 if failing else 0)


def test_fast_runs_the_end_to_end_tests_with_the_unit_tests(monkeypatch):
    ran = []

    def run(command, shell, cwd):
        ran.append(command)
        return subject.subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subject.subprocess, "run", run)
    assert CliRunner().invoke(subject.main, ["--fast"]).exit_code == 0
    assert ran[:-1] == [tasks()[name]["cmd"] for name in ("lint", "lit")]
    assert shlex.split(ran[-1]) == [
        *shlex.split(tasks()["unit"]["cmd"]),
        *(f"tests/e2e/{test}" for test in subject.FAST_END_TO_END),
    ]
