"""The folder of a matrix: rows of several files, reproducers, versions."""

import json
from dataclasses import asdict

import pytest

from unmess.core.errors.error import Error
from unmess.matrix.cells import Cell, Shard
from unmess.matrix.folder import opened, read_matrix
from unmess.row import Row

VERSIONS = {"torch": "2.13.0", "numpy": "2.4"}


def row(model="hf:a", stage="done", **more):
    return Row(model, "reference", stage == "done", stage, via="linalg", **more)


def cell(model="hf:a"):
    return Cell(model, "reference", "linalg")


def test_rows_are_in_the_folder_as_soon_as_they_are_added(tmp_path):
    with opened(tmp_path / "m", Shard(), VERSIONS) as folder:
        folder.add(row(operators=["aten.mm.default"]))
        # Another process reads the file while the run goes on.
        assert read_matrix(tmp_path / "m")[cell()].operators == ["aten.mm.default"]


def test_a_run_goes_on_after_a_line_that_was_cut_off(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(asdict(row())) + "\n" + json.dumps(asdict(row("hf:b")))[:40])
    with opened(tmp_path, Shard(), VERSIONS) as folder:
        assert list(folder.results) == [cell()]
        folder.add(row("hf:c"))
    assert list(read_matrix(tmp_path)) == [cell(), cell("hf:c")]


def test_the_latest_row_counts_in_whichever_file_it_is(tmp_path):
    with opened(tmp_path, Shard(), VERSIONS) as folder:
        folder.add(row(stage="torch", finished="2026-01-01T00:00:00.000+00:00"))
    with opened(tmp_path, Shard(1, 2), VERSIONS) as folder:
        assert folder.results[cell()].stage == "torch"
        folder.add(row(finished="2026-01-02T00:00:00.000+00:00"))
    with opened(tmp_path, Shard(2, 2), VERSIONS) as folder:
        folder.add(row("hf:b", finished="2026-01-01T12:00:00.000+00:00"))
    assert {path.name for path in tmp_path.iterdir()} == {
        "rows.jsonl",
        "rows-1-of-2.jsonl",
        "rows-2-of-2.jsonl",
    }
    assert {each.model: each.stage for each in read_matrix(tmp_path).values()} == {
        "hf:a": "done",
        "hf:b": "done",
    }


def test_two_runs_do_not_write_to_the_same_file(tmp_path):
    with opened(tmp_path, Shard(), VERSIONS):
        with pytest.raises(Error, match="another run writes to"):
            opened(tmp_path, Shard(), VERSIONS).__enter__()
        with opened(tmp_path, Shard(1, 2), VERSIONS):
            pass


def test_results_of_other_versions_are_not_mixed(tmp_path):
    with opened(tmp_path, Shard(), VERSIONS) as folder:
        folder.add(row(versions=VERSIONS))
    with opened(tmp_path, Shard(), VERSIONS | {"numpy": "3.0"}):
        pass
    with pytest.raises(Error, match=r"other versions: torch 2\.13\.0") as raised:
        opened(tmp_path, Shard(), VERSIONS | {"torch": "2.14.0"}).__enter__()
    assert raised.value.stage == "usage"


def test_reproducers_are_copied_and_name_their_new_place(tmp_path):
    repro = tmp_path / "cache" / "a-x1.mlir"
    repro.parent.mkdir()
    repro.write_text(f"// unmess-opt {repro}\n")
    with opened(tmp_path / "m", Shard(), VERSIONS) as folder:
        added = folder.add(row(stage="torch", repro=str(repro)))
        gone = folder.add(row("hf:b", stage="torch", repro="/nowhere/b.mlir"))
    copy = tmp_path / "m" / added.repro
    assert copy.read_text() == f"// unmess-opt {copy.name}\n"
    assert gone.repro == "/nowhere/b.mlir"


@pytest.mark.parametrize("content", [None, "", "[1]\n", '{"a": 1}\n', "\xff"])
def test_a_file_without_rows_is_a_usage_error(tmp_path, content):
    if content is not None:
        (tmp_path / "rows.jsonl").write_text(content, "latin-1")
    with pytest.raises(Error, match="results") as raised:
        read_matrix(tmp_path)
    assert raised.value.stage == "usage"


def test_a_folder_that_cannot_be_written_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Error, match="cannot write"):
        opened(tmp_path / "file", Shard(), VERSIONS).__enter__()
