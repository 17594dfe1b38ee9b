"""The recipe page of a model, from its facts."""

import itertools
import re
from dataclasses import replace

import pytest

from importers.recipes.limits import Limit
from importers.repair_list import recorded_repairs
from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.core.program.note import Note
from unmess.isolated import Options
from unmess.matrix.cells import cell_of
from unmess.recipe_page.facts import EntryCost, Facts, ProgramFacts, StageFacts, Tensors
from unmess.recipe_page.gathering import places_of, rows_of
from unmess.recipe_page.page import page, source_kind
from unmess.row import Row

EVIL = "<b>|*"
REPAIR = next(each for each in recorded_repairs() if each.name == "symbolic view")
NO_LOWERING = Error(
    "tosa", f"no lowering for {EVIL}", where="net.py:7", hint="write it differently"
)
INPUTS = [
    {"name": "x", "dtype": "float32", "shape": ["2*n", 3], "argument": 0},
    {"name": "flag", "dtype": None, "shape": None, "value": "a|b", "argument": None},
]
RESULTS = [
    {"name": "sum", "kind": "output", "dtype": "int64", "shape": []},
    {"name": "count", "kind": "state", "dtype": "int64", "shape": [4]},
]


def program(*notes, inputs=INPUTS):
    return ProgramFacts(
        name="net.f",
        strategy="strict",
        seconds=0.5,
        entries={"main": {"inputs": inputs, "results": RESULTS}},
        parameters=Tensors(2, 1500, 6000),
        other_tensors=Tensors(0, 0, 0),
        notes=notes,
    )


def stages(**errors):
    return tuple(
        StageFacts(stage, errors[stage], source=f"return {EVIL}")
        if stage in errors
        else StageFacts(
            stage,
            None,
            0.25,
            {stage: 4, "func": 1},
            "func.func @main() {",
            (EntryCost("main", 64, "64 FLOP", "inputs 32 B", "8·n FLOP"),)
            if stage == "linalg"
            else (),
        )
        for stage in IR_STAGES
    )


def row(runner, via, error=None, **more):
    if error is not None:
        return Row.failed("net.py:f", runner, error, via=via, **more)
    measured = {"capture": 1.5, "compile": 2.0, "run": 0.002, "eager": 0.001}
    return Row("net.py:f", runner, True, "done", via=via, seconds=measured, **more)


def facts(**changes):
    given = {
        "program": program(
            Note("repair", f"{REPAIR.name} (2 times)"),
            Note("dynamic", "n = x.shape[0], 2 to 8"),
            Note("source", "random weights"),
        ),
        "stages": stages(tosa=NO_LOWERING),
        "rows": (
            row("reference", "linalg", max_rel_error=2e-7, peak_rss_mb=512.0),
            row("iree-cpu", "linalg", notes=["source: random weights", "preset: plain"]),
            row("iree-cpu", "tosa", NO_LOWERING),
        ),
    }
    return Facts("net.py:f", Options(dynamic=("x.0=n:2..8",)), **given | changes)


def section(text, title):
    return re.search(rf"^## {title}\n\n(.*?)(?=^## |\Z)", text, re.M | re.S)[1].strip()


def test_inputs_and_results():
    assert section(page(facts()), "Inputs and results").splitlines()[2:] == [
        "| input | `x` | 2·n×3 | float32 |",
        "| input | `flag` | fixed to `a\\|b` | |",
        "| result | `sum` |  | int64 |",
        "| new state | `count` | 4 | int64 |",
    ]


def test_build_has_the_options_of_the_capture():
    build = section(page(facts()), "Build it")
    assert 'unmess.capture("net.py:f", dynamic_shapes=["x.0=n:2..8"])' in build
    assert "`strict` captures it in 500 ms" in build
    # Only the command line takes inputs as text.
    options = Options(inputs=("2x3xf32",), trust=True)
    text = page(replace(facts(), options=options))
    assert "unmess.capture(" not in text
    assert "unmess recipe net.py:f --input 2x3xf32 --trust" in text


def test_results_have_errors_times_and_stages():
    assert section(page(facts()), "Results").splitlines()[4:] == [
        "| `reference` | linalg | matches: 2.0e-07 | 1.5 s |  | 2.0 s | 2 ms | 1 ms | 512 MB |",
        "| `iree-cpu` | linalg | matches: equal | 1.5 s |  | 2.0 s | 2 ms | 1 ms |  |",
        "| `iree-cpu` | tosa | stops in tosa |  |  |  |  |  |  |",
    ]


def test_a_failure_of_several_places_is_listed_once():
    text = section(page(facts()), "Failures")
    assert text.splitlines() == [
        "**tosa: no lowering for &lt;b>\\|\\***",
        "",
        "- affects the IR at tosa, iree-cpu via tosa",
        f"- at `net.py:7`: `return {EVIL}`",
        "- hint: write it differently",
        "- repeat it: `unmess check net.py:f --dynamic x.0=n:2..8 --on iree-cpu --via tosa`",
        "- reduce it: `unmess triage net.py:f --dynamic x.0=n:2..8 --on iree-cpu --via tosa`",
    ]


def test_a_stage_that_no_check_needs_is_repeated_by_an_import():
    text = section(page(facts(rows=(row("reference", "linalg"),))), "Failures")
    assert text.splitlines()[2:] == [
        "- affects the IR at tosa",
        f"- at `net.py:7`: `return {EVIL}`",
        "- hint: write it differently",
        "- repeat it: `unmess import net.py:f --dynamic x.0=n:2..8 --to tosa`",
    ]


def test_known_limits_are_named(monkeypatch):
    limit = Limit("capture", "cannot export the odd part", link="https://example.org/7")
    recorded = {"hf:odd": (limit,)}
    monkeypatch.setattr("unmess.triage.known_limits.known_limits", lambda _file: recorded)
    rows = (row("reference", None, Error("capture", "cannot export the odd part")),)
    text = page(facts(rows=rows))
    assert "- known limit: hf:odd fails in the same way (https://example.org/7)\n" in text
    own = page(replace(facts(rows=rows), model="hf:odd", limits=(limit,)))
    assert "- known limit: recorded for this model (https://example.org/7)\n" in own
    assert section(own, "Known limits") == f"- {limit}"


def test_only_commands_that_work_are_listed():
    lines = section(page(facts()), "Commands").splitlines()
    assert [line for line in lines if line.startswith("unmess")] == [
        "unmess import net.py:f --dynamic x.0=n:2..8 --to linalg -o net.f-linalg.mlir",
        "unmess import net.py:f --dynamic x.0=n:2..8 --to stablehlo -o net.f-stablehlo.mlir",
        "unmess run net.py:f --dynamic x.0=n:2..8 --on reference",
        "unmess check net.py:f --dynamic x.0=n:2..8 --on reference,iree-cpu --via linalg",
        "unmess analyze net.py:f --dynamic x.0=n:2..8",
        "unmess package net.py:f --dynamic x.0=n:2..8 --on iree-cpu -o net.f-bundle",
    ]


def test_dynamic_dimensions_that_were_tried():
    sizes = [
        {"sizes": {"batch": 3}, "ok": True, "error": None},
        {"sizes": {"batch": 1}, "ok": False, "error": "1 differs"},
        {"sizes": {"batch": 2}, "ok": None, "error": None},
    ]
    tried = (row("reference", None, sizes=sizes), row("iree-cpu", None, NO_LOWERING))
    text = page(replace(facts(), options=Options(), dynamic="*.0=batch", tried=tried))
    dynamic = section(text, "Dynamic dimensions")
    assert "- n = x.shape[0], 2 to 8" in dynamic
    assert "`reference`: batch=3: matches; batch=1: differs: 1 differs; batch=2: refused by eager"
    assert "- `iree-cpu`: tosa: no lowering for &lt;b>\\|\\*" in dynamic
    assert "unmess check net.py:f --dynamic '*.0=batch' --on reference\n" in text


def test_ir_and_cost():
    text = page(facts())
    assert section(text, "IR").splitlines()[2:7] == [
        "| raw | raw 4, func 1 | 250 ms |",
        "| torch | torch 4, func 1 | 250 ms |",
        "| linalg | linalg 4, func 1 | 250 ms |",
        "| tosa | [stops in tosa](#failures) | |",
        "| stablehlo | stablehlo 4, func 1 | 250 ms |",
    ]
    assert text.count("```mlir\nfunc.func @main() {\n```\n") == 4
    cost = section(text, "Size and cost")
    assert "| parameters | 2 | 1.5 k | 6 kB |" in cost
    assert "- one call: 64 FLOP\n- memory: inputs 32 B\n- at any size: 8·n FLOP" in cost


def test_changes_have_reasons_and_links():
    text = section(page(facts()), "Changes")
    assert f"| repair: {REPAIR.name} (2 times) | " in text and "/issues/4743" in text
    # A note of the program that a row repeats is listed once.
    assert text.splitlines()[-3:] == [
        "- dynamic: n = x.shape[0], 2 to 8",
        "- source: random weights",
        "- preset: plain (on iree-cpu via linalg)",
    ]


def test_a_model_that_is_not_captured():
    error = Error("capture", "cannot export", hint="another")
    text = page(facts(program=None, stages=(), rows=(row("reference", "linalg", error),)))
    assert "The model is not captured: see [Failures](#failures)." in text
    assert "**capture: cannot export**" in text
    assert not re.search("^## (Commands|IR|Changes|Inputs and results)", text, re.M)


@pytest.mark.parametrize("changes", [{}, {"program": None, "stages": ()}, {"folder": "out"}])
def test_the_layout_is_regular(changes):
    text = page(facts(**changes))
    assert "\n\n\n" not in text and text.endswith("\n") and not text.endswith("\n\n")
    lines = text.splitlines()
    for before, line in itertools.pairwise(lines):
        if line.startswith("#") and not before.startswith("unmess") and "```" not in before:
            assert before == "", line
        if line.startswith("| ---"):
            assert before.startswith("| ")


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        ("torchvision:resnet18", "torchvision"),
        ("hf:bert", "type"),
        ("hf:org/name", "folder"),
        ("hf:model.gguf", "gguf"),
        ("net.py", "python"),
        ("net.py:f", "python"),
        ("net.mlir", "ir"),
        ("net.onnx", "program"),
    ],
)
def test_kinds_of_weights(model, kind):
    assert source_kind(model) == kind
    text = page(replace(facts(), model=model))
    assert len(section(text, "Weights")) > 20


def test_rows_of_a_matrix():
    rows = [row("reference", "linalg"), row("iree-cpu", "linalg"), row("reference", None)]
    results = {cell_of(each): each for each in rows}
    assert rows_of("net.py:f", results, "out", (), ()) == rows
    assert rows_of("net.py:f", results, "out", ("reference",), ()) == [rows[0], rows[2]]
    assert rows_of("net.py:f", results, "out", (), (None,)) == [rows[2]]
    with pytest.raises(Error, match=r"out has no results of net\.py:g"):
        rows_of("net.py:g", results, "out", (), ())


def test_places_are_ordered_by_output_dialect():
    assert places_of(["a", "b"], ["linalg", None]) == [
        *(("a", "linalg"), ("b", "linalg")),
        *(("a", None), ("b", None)),
    ]
