"""Rows in a few words, and counts by column."""

import pytest

from unmess.matrix.summary import columns_of, state
from unmess.row import Row


def row(stage="done", error=None, runner="reference", **more):
    return Row("hf:a", runner, stage == "done", stage, error, **more)


def test_models_that_are_not_built_are_not_counted():
    rows = [row(), row("torch", "no"), row("source", "no"), row(runner="iree-cpu", via="tosa")]
    assert [str(column) for column in columns_of(rows)] == [
        "reference: 1 of 2 match eager (50.0%); stopped: 1 in torch",
        "iree-cpu via tosa: 1 of 1 match eager (100.0%)",
    ]
    assert str(columns_of([row("source", "no")])[0]) == "reference: 0 of 0 match eager"


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (row(max_rel_error=2.4e-7), "2e-07"),
        (row(max_rel_error=0.0), "equal"),
        (row(), "equal"),
        (row("compare", "off", max_rel_error=0.5), "compare: off"),
    ],
)
def test_states(shown, text):
    assert state(shown) == text
