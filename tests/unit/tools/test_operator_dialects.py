"""Tests the page with the table of operators per output dialect."""

from importlib.metadata import version

import pytest

from tools import operator_dialects as tool


@pytest.mark.parametrize(
    ("stage", "state"),
    [
        ("tosa", "no form"),
        ("linalg", "lowers"),
        ("compile", "lowers"),
        ("compare", "differs"),
        ("run", "fails"),
        ("crash", "crashes"),
        ("torch", "no program"),
        ("capture", "no program"),
    ],
)
def test_failed_stage_determines_the_state(stage, state):
    assert tool.state(tool.Failure(stage, "why"), "tosa") == state


def test_the_page_counts_and_says_what_differs():
    cases = [
        *[case for group in tool.groups() for case in group if case.operator == "torch.abs"][:2],
        *[case for group in tool.groups() for case in group if case.operator == "torch.neg"][:2],
    ]
    found = {(dialect, str(case)): None for dialect in tool.OUTPUT_DIALECTS for case in cases}
    found["tosa", str(cases[0])] = tool.Failure("tosa", "no lowering")
    found["tosa", str(cases[2])] = found["tosa", str(cases[3])] = tool.Failure("tosa", "no")
    found["stablehlo", str(cases[1])] = tool.Failure("compare", "a | b")
    found["stablehlo", str(cases[2])] = tool.Failure("run", "a check")
    found["stablehlo", str(cases[3])] = tool.Failure("crash", "SIGSEGV")
    del found["stablehlo", str(cases[0])]
    found |= {(tool.alone("tosa"), str(case)): None for case in cases[:2]}
    found[tool.alone("tosa"), str(cases[2])] = tool.Failure("tosa", "no")
    text = tool.page(cases, found)
    tosa, stablehlo = text.split("## stablehlo")
    assert "| together | 4 | 1 | 3 | 0 | 0 | 0 | 0 | 0 | 0 | 2 |" in tosa
    assert f"unmess does not:\n\n- `{cases[0]}`: tosa: no lowering\n\n" in tosa
    assert "- Of all cases: `torch.neg`" in tosa and "- Of some: `torch.abs`" in tosa
    assert "| together | 4 | 0 | 0 | 0 | 1 | 1 | 1 | 0 | 1 | 0 |" in stablehlo
    lines = stablehlo.partition("Cases that differ, fail or crash:\n\n")[2].splitlines()
    assert lines == [
        f"- `{cases[1]}`: compare: a \\| b",
        f"- `{cases[2]}`: run: a check",
        f"- `{cases[3]}`: crash: SIGSEGV",
    ]


def test_page_names_the_versions():
    assert f"with torch {version('torch')}, torch-mlir {version('torch-mlir')};" in tool.page(
        [], {}
    )


def test_run_resumes_after_an_interruption(tmp_path):
    file = tmp_path / "results.jsonl"
    assert tool.read(file) == {}
    file.write_text('["tosa", "a", null]\n["tosa", "b", ["compare", "why"]]\n["tosa", "c')
    assert tool.read(file) == {
        ("tosa", "a"): None,
        ("tosa", "b"): tool.Failure("compare", "why"),
    }


@pytest.mark.parametrize(
    ("again", "places"),
    [(None, "c"), ("failed", "bc"), ("all", "abc")],
)
def test_which_cases_are_repeated(again, places):
    """Cases are strings here. Only "all" repeats what torch-mlir alone does not lower."""
    failure = tool.Failure("compare", "why")
    found = {("tosa", "a"): None, ("tosa", "b"): failure, (tool.alone("tosa"), "b"): failure}
    assert tool.wanted("abc", "tosa", found, again) == list(places)
    others = {"all": "abc"}.get(again, "ac")
    assert tool.wanted("abc", tool.alone("tosa"), found, again) == list(others)
