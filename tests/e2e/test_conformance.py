"""Tests `unmess conformance`: its reports, and continuing an interrupted run."""

import importlib.util
import json
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from unmess.cli import cli
from unmess.cli.exit_status import INTERRUPTED
from unmess.conformance import running
from unmess.conformance.causes import causes_of
from unmess.conformance.levels import LEVELS, case_names, cases_of
from unmess.conformance.programs.drawing import drawn
from unmess.conformance.report import (
    compare_with_expected,
    explains_all,
    junit,
    page,
    read_expected,
)
from unmess.conformance.result import Result, ResultFile, changes, read_results, status_of
from unmess.conformance.running import about
from unmess.core.errors.error import Error

FILE = Path(__file__).parents[1] / "shared/numpy_backend.py"
ABOUT = {
    "backend": "mine",
    "describe": "a <compiler>",
    "tolerances": {"float16": 0.01},
    "numerics": "",
    "torch": "2",
    "torch-mlir": "3",
}


def invoke(*arguments):
    return CliRunner().invoke(cli, list(map(str, arguments)), standalone_mode=False)


def result(name, status="pass", stage=None, cause=None, level=1, dtype="f32", dynamic=False):
    return Result(name, level, "Unary", dtype, dynamic, status, stage, cause)


RESULTS = [
    result("a"),
    result("b", "fail", "compile", "no 'x.op' for 7 elements"),
    result("c", "fail", "compile", "no 'y.op' for 8 elements"),
    result("d", "wrong", "compare", "1 of 2 elements differ"),
    result("e", "crash", "run", "tool crashed with SIGSEGV\x1b[0m"),
    result("f", "skip", "linalg", "no lowering", dynamic=True),
]


@pytest.mark.parametrize(
    ("stage", "cause", "status"),
    [
        (None, None, "pass"),
        ("compile", "no such operation", "fail"),
        ("run", "the exception", "fail"),
        ("run", "garbage output: 2 results, the program has 1", "wrong"),
        ("compare", "3 of 4 elements differ", "wrong"),
        ("compile", "mlir-opt crashed with SIGABRT", "crash"),
        ("compile", "IREE's compiler crashes with SIGFPE: no diagnostic", "crash"),
        ("crash", "no Error, but KeyError", "crash"),
        ("run", "tool timed out after 3 s", "hang"),
        ("linalg", "no lowering", "skip"),
        ("eager", "RuntimeError", "skip"),
        ("usage", "my-opt not found", "fail"),
    ],
)
def test_statuses(stage, cause, status):
    assert status_of(stage, cause) == status


def test_a_run_resumes_and_is_of_one_backend(tmp_path):
    file = ResultFile(tmp_path, ABOUT)
    file.add(RESULTS[0])
    file.add(RESULTS[1])
    with file.path.open("a") as unfinished:
        unfinished.write('{"name": "cut o')
    with pytest.raises(Exception, match="another run writes to"):
        ResultFile(tmp_path, ABOUT)
    file.close()
    again = ResultFile(tmp_path, ABOUT)
    assert list(again.results) == ["a", "b"]
    again.add(RESULTS[2])
    again.close()
    assert read_results(tmp_path) == (ABOUT, RESULTS[:3])
    with pytest.raises(Exception, match="results of another backend: backend differ"):
        ResultFile(tmp_path, {**ABOUT, "backend": "yours"})


def test_causes_are_grouped_but_for_numbers_and_names():
    causes = causes_of(RESULTS)
    assert [(cause.status, cause.names) for cause in causes] == [
        ("fail", ["b", "c"]),
        ("wrong", ["d"]),
        ("crash", ["e"]),
    ]


def test_expected_failures_must_fail(tmp_path):
    file = tmp_path / "expected.txt"
    file.write_text("# known\na\nb\nc\nnot run\n")
    found = compare_with_expected(RESULTS, read_expected(file))
    assert (found.unexpected, found.fixed, found.ok) == (("d", "e"), ("a",), False)
    assert compare_with_expected(RESULTS, ["b", "c", "d", "e"]).ok


def test_a_level_without_a_pass_explains_those_above():
    assert explains_all(RESULTS[1:], ["b"])
    assert not explains_all(RESULTS, [])
    assert not explains_all(RESULTS[1:2], ["b"])
    assert not explains_all(RESULTS[-1:], [])


@pytest.mark.parametrize(("more", "levels"), [((), {3}), (("--keep-going",), {3, 4})])
def test_levels_above_one_without_a_pass_run_if_asked(tmp_path, monkeypatch, more, levels):
    monkeypatch.setattr(
        running,
        "run_cases",
        lambda parent, members, on, jobs: [
            result(case.name, "fail", "compile", "no such operation", case.level)
            for case in members
        ],
    )
    words = ("--on", f"{FILE}:NumpyBackend", "--level", 3, "--level", 4, "-o", tmp_path)
    done = invoke("conformance", *words, *more)
    assert done.return_value == 1
    assert {each.level for each in read_results(tmp_path)[1]} == levels
    assert ("--keep-going runs them" in done.stderr) == (not more)


def test_junit_xml():
    (suite,) = ET.fromstring(junit(ABOUT, RESULTS, ["b"]))
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "6",
        "failures": "3",
        "skipped": "1",
    }
    messages = {case.get("name"): [each.tag for each in case] for case in suite}
    assert messages == {
        **{name: ["failure"] for name in "cde"},
        **{name: ["skipped"] for name in "bf"},
        "a": [],
    }


def test_the_page_escapes_text_and_shows_tolerances():
    text = page(ABOUT, RESULTS, causes_of(RESULTS), compare_with_expected(RESULTS, ["a"]))
    assert "a &lt;compiler&gt;" in text
    assert "float16 0.01" in text
    assert "Expected to fail, and pass" in text
    assert "http" not in text


def test_diff_reports_regressions(tmp_path):
    old, new = ResultFile(tmp_path / "old", ABOUT), ResultFile(tmp_path / "new", ABOUT)
    for each in RESULTS[:2]:
        old.add(each)
    new.add(result("b"))
    done = invoke("conformance", "diff", old.path.parent, new.path)
    assert (done.return_value, "0 regressions, 2 changes" in done.stdout) == (0, True)
    new.add(result("a", "hang", "run", "timed out after 3 s"))
    done = invoke("conformance", "diff", old.path.parent, new.path, "--json")
    document = json.loads(done.stdout)
    assert done.return_value == 1
    assert [each["name"] for each in document["changes"] if each["is_regression"]] == ["a"]
    assert not changes(RESULTS, RESULTS)


def test_levels_have_distinct_cases():
    programs = [case.name for case in cases_of(2)]
    names = [case.name for level in LEVELS if level != 2 for case in cases_of(level)] + programs
    assert len(set(names)) == len(names)
    assert set(names) == case_names()


def test_the_random_programs_are_the_same_each_time():
    assert drawn(2) == drawn(2)


def test_random_programs_need_hypothesis(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Error, match="random programs need hypothesis") as caught:
        cases_of(2)
    assert "unmess[conformance]" in caught.value.hint


def test_a_backend_in_python(tmp_path, unmess_command):
    on, folder = f"{FILE}:NumpyBackend", tmp_path / "report"
    expected = tmp_path / "expected.txt"
    done = unmess_command("conformance", "--on", on, "-k", "torch.relu(f", "-o", folder, "--json")
    document = json.loads(done.stdout)
    assert done.returncode == 0, document["causes"]
    assert [each["status"] for each in document["results"]] == ["pass"] * 3
    done = unmess_command(
        "conformance", "--on", on, "-k", "torch.rsqrt(f32", "-o", folder, "--json"
    )
    document = json.loads(done.stdout)
    assert done.returncode == 1
    (cause,) = document["causes"]
    assert (cause["stage"], cause["text"]) == ("compile", "no torch.aten.rsqrt")
    assert "torch.aten.rsqrt" in (folder / cause["file"]).read_text()
    # Nothing runs again: all results are there.
    expected.write_text("\n".join(cause["names"]))
    again = unmess_command(
        *("conformance", "--on", on, "-k", "torch.rsqrt(f32", "-o", folder),
        *("--expected", expected),
    )
    assert again.returncode == 0
    assert "are in" in again.stderr
    expected.write_text("torch.rsqt(f32[2,3])")
    unknown = unmess_command("conformance", "--on", on, "-o", folder, "--expected", expected)
    assert unknown.returncode == 2
    assert "no case is called 'torch.rsqt(f32[2,3])'" in unknown.stderr
    assert "did you mean torch.sqrt(f32" in unknown.stderr


def test_a_backend_that_writes_arguments(tmp_path):
    words = ("--on", f"{FILE}:Overwrites", "-k", "torch.relu(f32", "-o", tmp_path, "--json")
    done = invoke("conformance", *words)
    (cause,) = json.loads(done.stdout)["causes"]
    assert (cause["stage"], cause["text"]) == ("compare", "argument[0]: the call has changed it")


def test_an_interrupted_run_is_not_ok(tmp_path, monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(running, "run_cases", interrupted)
    words = ("--on", f"{FILE}:NumpyBackend", "-k", "torch.relu(f", "-o", tmp_path, "--json")
    done = invoke("conformance", *words)
    document = json.loads(done.stdout)
    assert (document["ok"], document["interrupted"]) == (False, True)
    assert done.return_value == INTERRUPTED


def test_random_programs_on_the_reference_runner(tmp_path, unmess_command):
    words = ("--on", "reference", "--level", 2, "-k", "program views 1", "-o", tmp_path, "--json")
    done = unmess_command("conformance", *words)
    document = json.loads(done.stdout)
    assert done.returncode == 0, document["causes"]
    assert {each["level"] for each in document["results"]} == {2}


def test_an_edited_backend_does_not_continue_a_run(tmp_path):
    file = tmp_path / "edited.py"
    file.write_text(FILE.read_text())
    before = about(f"{file}:NumpyBackend")
    file.write_text(FILE.read_text() + "# Changed.\n")
    after = about(f"{file}:NumpyBackend")
    (tmp_path / "other").mkdir()
    copy = tmp_path / "other/edited.py"
    copy.write_text(file.read_text())
    moved = about(f"{copy}:NumpyBackend")
    assert len({each["identity"] for each in (before, after, moved)}) == 3
    assert before["backend"] == after["backend"]


def test_print_case_writes_a_folder(tmp_path, unmess_command):
    folder = tmp_path / "case"
    name = next(case.name for case in cases_of(1) if case.name.startswith("torch.mul(f32"))
    done = unmess_command(
        *("conformance", "--on", f"{FILE}:NumpyBackend", "--print-case", name, "-o", folder)
    )
    assert done.returncode == 0, done.stderr
    assert "torch.aten.mul" in (folder / "input.mlir").read_text()
    x, y = (np.load(folder / f"inputs/{number}.npy") for number in (0, 1))
    assert np.array_equal(np.load(folder / "expected/0.npy"), x * y)
    assert name in (folder / "README.txt").read_text()
