"""What got better or worse between two matrices, and `unmess matrix diff`."""

import json

import pytest

from unmess.__main__ import main
from unmess.matrix.cells import Shard, cell_of
from unmess.matrix.difference import difference
from unmess.matrix.folder import opened
from unmess.row import Row


def row(stage="done", error=None, relative=None, model="hf:a", via="tosa", run=None):
    ok = stage == "done"
    seconds = {} if run is None else {"run": run}
    return Row(
        *(model, "reference", ok, stage, error), max_rel_error=relative, via=via, seconds=seconds
    )


def results(*rows):
    return {cell_of(each): each for each in rows}


@pytest.mark.parametrize(
    ("old", "new", "worse"),
    [
        (row(), row("compare", "off"), True),
        (row("compile", "no"), row("torch", "no"), True),
        # The IR is lowered to TOSA, and from there to linalg.
        (row("linalg", "no"), row("tosa", "no"), True),
        (row("tosa", "no"), row("linalg", "no"), False),
        (row("torch", "no"), row(), False),
        (row(relative=1e-6), row(relative=2e-5), True),
        (row(relative=2e-5), row(relative=1e-6), False),
        (row(relative=None), row(relative=1e-3), True),
        (row(relative=1e-6), row(relative=9e-6), None),
        # Both errors are rounding errors.
        (row(relative=1e-12), row(relative=5e-7), None),
        # The wording of a cause may change.
        (row("torch", "no"), row("torch", "not so"), None),
        (row("compare", "off", 0.1), row("compare", "off", 100.0), None),
    ],
)
def test_changes(old, new, worse):
    found = difference(results(old), results(new), factor=10)
    assert [change.worse for change in found.changes] == ([] if worse is None else [worse])


def test_cells_of_one_matrix_only_are_no_regression():
    found = difference(results(row(model="hf:a")), results(row(model="hf:b")), factor=10)
    assert not found.changes
    assert [cell.model for cell in found.removed] == ["hf:a"]
    assert [cell.model for cell in found.added] == ["hf:b"]


def test_times_are_medians_by_column():
    old = results(*(row(model=f"hf:{name}", run=1.0) for name in "abc"))
    new = results(
        *(row(model=f"hf:{name}", run=run) for name, run in zip("abc", (2, 3, 9), strict=True))
    )
    found = difference(old, new, factor=10)
    assert found.times == {"reference via tosa": 3.0} and not found.changes


@pytest.fixture
def folders(tmp_path):
    for name, rows in (
        ("old", [row(relative=1e-6, run=1.0), row("torch", "no", model="hf:b")]),
        ("new", [row("compile", "crashed", run=2.0), row(model="hf:b")]),
    ):
        with opened(tmp_path / name, Shard(), {}) as folder:
            for each in rows:
                folder.add(each)
    return [str(tmp_path / name) for name in ("old", "new")]


def test_diff_prints_both_and_fails_on_a_regression(folders, capsys):
    assert main(["matrix", "diff", *folders]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "better: hf:b on reference via tosa: torch: no -> equal",
        "worse: hf:a on reference via tosa: 1e-06 -> compile: crashed",
        "time on reference via tosa: 2.00 times the old one (median)",
        "1 got worse, 1 got better",
    ]
    assert main(["matrix", "diff", folders[0], folders[0]]) == 0


def test_diff_as_json(folders, capsys):
    assert main(["matrix", "diff", *folders, "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["ok"] is False and len(document["changes"]) == 2
    assert document["changes"][0]["model"] == "hf:a" and document["changes"][0]["worse"]


def test_diff_of_a_folder_without_results(tmp_path, folders, capsys):
    assert main(["matrix", "diff", folders[0], str(tmp_path)]) == 2
    assert "has no results of a matrix" in capsys.readouterr().err
