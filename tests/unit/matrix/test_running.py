"""Which cells run, and what their rows get."""

import pytest

from unmess.isolated import Options
from unmess.matrix import running
from unmess.matrix.cells import Cell, Shard, cell_of
from unmess.matrix.folder import opened
from unmess.matrix.running import missing_cells, run_cells
from unmess.row import Row

RUNNERS = ("reference", "iree-cpu")
CELLS = [
    Cell(model, runner, via)
    for model in ("a.py", "b.py")
    for via in ("linalg", "tosa")
    for runner in RUNNERS
]


def row(cell, stage="done"):
    return Row(cell.model, cell.runner, stage == "done", stage, via=cell.via)


@pytest.mark.parametrize(
    ("again", "missing"), [(None, CELLS[2:]), ("failed", CELLS[1:]), ("all", CELLS)]
)
def test_missing_cells(again, missing):
    results = {CELLS[0]: row(CELLS[0]), CELLS[1]: row(CELLS[1], "torch")}
    assert missing_cells(CELLS, results, again) == missing


def test_each_missing_cell_runs_once(monkeypatch, tmp_path):
    seen = []

    def check_together(_parent, work, options, jobs, **_callbacks):
        assert (options.timeout, options.list_operators, jobs) == (5, True, 2)
        for model, places in work:
            seen.append(model)
            yield from (row(Cell(model, *place)) for place in places)

    monkeypatch.setattr(running, "check_together", check_together)
    with opened(tmp_path, Shard(), {}) as folder:
        rows = list(
            run_cells(
                *(None, CELLS[1:], Options(timeout=5), 2, folder),
                on_stage=lambda *_: None,
                on_output=print,
            )
        )
        assert set(folder.results) == set(CELLS[1:])
    # A worker checks all cells of a model.
    assert seen == ["a.py", "b.py"]
    assert [cell_of(each) for each in rows] == CELLS[1:]
    assert all(each.versions["torch"] and each.finished for each in rows)
