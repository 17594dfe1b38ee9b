"""Tests the results, limits and tables of a sweep."""

import json
import subprocess
from dataclasses import asdict, replace

import pytest
from command_line import parsed

from importers.recipes import Recipe
from importers.recipes.limits import Limit, known_limits
from tools import model_pages, sweep
from unmess.cli.matrix import matrix
from unmess.row import Row

RUNNERS = ("reference", "iree-cpu")


def row(runner, stage="done", error=None, model="hf:a"):
    ok = stage == "done"
    return Row(model, runner, ok, stage, error, max_rel_error=2e-7 if ok else None)


def results(*rows):
    return {(row.model, row.runner): row for row in rows}


def test_results_of_a_matrix_or_of_one_file(tmp_path):
    stored = [
        replace(row("reference", stage, "no"), via=via)
        for stage, via in (
            ("torch", "linalg"),
            ("tosa", "tosa"),
            ("done", None),
            ("done", "linalg"),
        )
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in stored[:2]))
    assert sweep.read(tmp_path) == sweep.read(file) == results(row("reference", "torch", "no"))
    file.write_text("".join(json.dumps(asdict(one)) + "\n" for one in [*stored[:3], stored[0]]))
    assert sweep.read(tmp_path) == results(row("reference", "done", "no"))
    assert sweep.read(tmp_path / "none") == {}


def test_an_empty_folder_has_no_results(tmp_path):
    assert sweep.read(tmp_path) == {}


def test_models_are_checked_on_runners_without_a_known_result():
    recipes = [Recipe(f"hf:{name}", "hf", "encoder") for name in "cab"]
    known = results(row("reference", model="hf:a"))
    assert sweep.missing_checks(recipes, RUNNERS, known) == {
        RUNNERS: ["hf:c", "hf:b"],
        ("iree-cpu",): ["hf:a"],
    }
    assert sweep.missing_checks(recipes, ("reference",), known) == {
        ("reference",): ["hf:c", "hf:b"]
    }


def test_failure_before_the_runners_is_a_limit_of_all_runners():
    found = results(*(row(runner, "torch", "no way") for runner in RUNNERS))
    recipe = Recipe("hf:a", "hf", "encoder")
    assert sweep.limits_of(recipe, found, RUNNERS) == [Limit("torch", "no way")]
    assert sweep.limits_of(recipe, found, RUNNERS[:1]) == [Limit("torch", "no way")]


def test_limits_of_other_runners_are_kept():
    elsewhere = Limit("compare", "wrong", "iree-cpu")
    recipe = Recipe("hf:a", "hf", "encoder", (elsewhere,))
    found = results(row("reference", "compile", "no"))
    assert sweep.limits_of(recipe, found, ("reference",)) == [
        Limit("compile", "no", "reference"),
        elsewhere,
    ]


@pytest.mark.parametrize(
    ("limits", "stage", "surprise"),
    [
        ((), "done", None),
        ((), "torch", "hf:a on reference: torch: no"),
        ((Limit("torch", "no"),), "torch", None),
        # Only the stage is compared: the wording of a cause may change with a version.
        ((Limit("torch", "another"),), "torch", None),
        ((Limit("torch", "no"),), "linalg", "hf:a on reference: linalg: no"),
        ((Limit("torch", "no"),), "done", "hf:a on reference passes; known to stop in torch"),
        ((Limit("torch", "no", "iree-cpu"),), "done", None),
    ],
)
def test_results_that_contradict_the_limits_are_unexpected(limits, stage, surprise):
    recipe = Recipe("hf:a", "hf", "encoder", limits)
    found = results(row("reference", stage, None if stage == "done" else "no"))
    assert list(sweep.unexpected([recipe], found, ["reference"])) == (
        [surprise] if surprise else []
    )


def test_a_model_that_is_not_built_is_expected_to_stop_there():
    recipe = Recipe("hf:a", "hf", "encoder", not_built=Limit("source", "no"))
    assert not list(sweep.unexpected([recipe], results(row("reference", "source", "no")), RUNNERS))
    assert list(sweep.unexpected([recipe], results(row("reference")), RUNNERS)) == [
        "hf:a on reference passes; known to stop in source"
    ]


def test_models_that_are_not_built_are_recorded_in_their_own_file(monkeypatch, tmp_path):
    files = {name: tmp_path / name for name in ("FILE", "NOT_BUILT")}
    for name, file in files.items():
        file.write_text("")
        monkeypatch.setattr(sweep, name, file)
    monkeypatch.setattr(sweep, "record_models", lambda _: None)
    monkeypatch.setattr(model_pages, "DOCS", tmp_path / "docs" / "models")
    recipes = [Recipe(f"hf:{name}", "hf", "encoder") for name in "abc"]
    monkeypatch.setattr(sweep, "list_recipes", lambda: recipes)
    rows = tmp_path / "rows.jsonl"
    found = [
        row("reference", "source", "no", model="hf:a"),
        row("reference", "torch", "no", model="hf:b"),
        row("reference", model="hf:c"),
    ]
    rows.write_text("".join(json.dumps(asdict(one)) + "\n" for one in found))
    command = ["sweep", "hf", "--on", "reference", "--record", "--results", str(rows)]
    monkeypatch.setattr("sys.argv", [*command, "--report"])
    assert sweep.main() == 0
    assert known_limits(files["FILE"]) == {"hf:b": (Limit("torch", "no"),)}
    assert known_limits(files["NOT_BUILT"]) == {"hf:a": (Limit("source", "no"),)}


def test_models_that_are_not_built_have_their_own_table():
    recipes = [Recipe(f"hf:{name}", "hf", "encoder") for name in "ab"]
    found = results(row("reference"), row("reference", "source", "a|b", model="hf:b"))
    text = model_pages.page("hf", recipes, found, RUNNERS)
    assert text.splitlines()[-7:] == [
        "| `hf:a` | encoder | 2e-07 | not run |",
        "",
        "## Not built",
        "",
        "| model | task | cause |",
        "| --- | --- | --- |",
        "| `hf:b` | encoder | a\\|b |",
    ]
    assert model_pages.page("hf", recipes, model_pages.read_page(text), RUNNERS) == text


def test_a_result_replaces_copies_of_an_earlier_stop():
    stop = row("reference", "source", "no"), row("iree-cpu", "source", "no")
    table = results(*stop, row("iree-cpu", model="hf:b"))
    kept = model_pages.without_outdated(table, results(row("reference")))
    assert list(kept) == [("hf:b", "iree-cpu")]
    capture = results(row("reference", "capture", "no"))
    assert list(model_pages.without_outdated(table, capture)) == [("hf:b", "iree-cpu")]
    assert model_pages.without_outdated(table, results(stop[0])) == table


def test_the_table():
    recipes = [Recipe("hf:a", "hf", "encoder"), Recipe("hf:b", "hf", "decoder")]
    found = results(row("reference"), row("reference", "torch", "a|b", model="hf:b"))
    lines = model_pages.page("hf", recipes, found, ["reference"]).splitlines()
    assert lines[0] == "# Hugging Face"
    assert lines[-2:] == [
        "| `hf:a` | encoder | 2e-07 |",
        "| `hf:b` | decoder | torch: a\\|b |",
    ]


def test_the_table_of_an_unfinished_sweep():
    recipes = [Recipe("hf:a", "hf", "encoder"), Recipe("hf:b", "hf", "encoder")]
    text = model_pages.page("hf", recipes, results(row("reference")), ("reference",))
    assert "1 checks have not been run, and are not counted." in text
    assert "| `hf:a` | encoder | 2e-07 |" in text
    assert "| `hf:b` | encoder | not run |" in text


def test_limits_of_models_that_were_not_run_are_kept():
    known = Limit("linalg", "no lowering")
    recipe = Recipe("hf:b", "hf", "encoder", (known,))
    assert sweep.limits_of(recipe, results(row("reference")), ("reference",)) == [known]
    assert list(sweep.unexpected([recipe], results(row("reference")), ("reference",))) == []


def test_table_keeps_earlier_results():
    recipes = [Recipe(f"hf:{name}", "hf", "encoder") for name in "abc"]
    found = results(
        row("reference"),
        row("reference", "torch", "1 < 2 | a*b: no", model="hf:b"),
        row("reference", "compare", "off", model="hf:c"),
    )
    first = model_pages.page("hf", recipes, found, ["reference"])
    earlier = model_pages.read_page(first)
    assert model_pages.page("hf", recipes, earlier, ["reference"]) == first
    new = results(row("iree-cpu"))
    lines = model_pages.page("hf", recipes, earlier | new, RUNNERS).splitlines()
    assert lines[-5] == "| model | task | reference | iree-cpu |"
    assert lines[-3] == "| `hf:a` | encoder | 2e-07 | 2e-07 |"
    # Stages up to linalg are the same for all runners. Each runner has its own comparison.
    stop = "torch: 1 &lt; 2 \\| a\\*b: no"
    assert lines[-2] == f"| `hf:b` | encoder | {stop} | {stop} |"
    assert lines[-1] == "| `hf:c` | encoder | compare: off | not run |"


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Runs no matrix, and records its command lines."""
    found = []

    def run(command, **_):
        found.append(command[command.index("matrix") :])
        return subprocess.CompletedProcess(command, 3, "[]")

    monkeypatch.setattr(sweep.subprocess, "run", run)
    monkeypatch.setattr(model_pages, "DOCS", tmp_path / "docs" / "models")
    return found


def swept(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["sweep", *map(str, arguments)])
    return sweep.main()


def test_models_are_checked_in_the_order_of_the_command_line(commands, monkeypatch, tmp_path):
    names = ("vgg11", "alexnet", "--on", "iree-cpu", "--timeout", "5", "--again", "failed")
    assert swept(monkeypatch, "torchvision", *names, "--results", tmp_path / "m") == 1
    assert commands == [
        [
            *("matrix", "--json", "-o", str(tmp_path / "m")),
            *("--on", "iree-cpu", "--via", "default"),
            *("--models=torchvision:vgg11", "--models=torchvision:alexnet"),
            *("--timeout=5", "--again=failed"),
        ]
    ]
    # The command that is run exists, and takes these options.
    with parsed(matrix, "matrix", commands[0][1:]) as context:
        assert context.params["patterns"] == ("torchvision:vgg11", "torchvision:alexnet")


def test_sweep_resumes_from_the_table(commands, monkeypatch, tmp_path):
    recipe = Recipe("torchvision:vgg11", "torchvision", "classification")
    known = results(row("iree-cpu", model=recipe.model))
    path = model_pages.page_of("torchvision")
    path.parent.mkdir(parents=True)
    path.write_text(model_pages.page("torchvision", [recipe], known, ["iree-cpu"]))
    names = ("vgg11", "alexnet", "--on", "iree-cpu", "--from-table")
    assert swept(monkeypatch, "torchvision", *names, "--results", tmp_path / "m") == 1
    assert [each for each in commands[0] if each.startswith("--models")] == [
        "--models=torchvision:alexnet"
    ]


def test_a_matrix_that_does_not_run_ends_the_sweep(commands, monkeypatch, tmp_path):
    monkeypatch.setattr(
        sweep.subprocess,
        "run",
        lambda command, **_: subprocess.CompletedProcess(command, 2, '{"ok": false}'),
    )
    assert swept(monkeypatch, "torchvision", "vgg11", "--results", tmp_path / "m") == 2
