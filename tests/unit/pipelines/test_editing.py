"""Tests where user passes are inserted and where a path ends, without running a pass."""

import pytest

from pipelines.lower import Changes, plan
from unmess.core.errors.error import Error


def names(to="linalg", stage="raw", **changes):
    """Returns each pipeline's name, the names of its steps, and the stage that it reaches."""
    return [
        (pipeline.name, [step.name for step in pipeline.steps], reached)
        for pipeline, reached in plan(stage, to, Changes(**changes))
    ]


def own(module):
    """A pass that does nothing."""


def test_path_without_changes():
    assert [(name, reached) for name, _, reached in names()] == [
        ("torch", "torch"),
        ("linalg", "linalg"),
    ]


def test_passes_at_a_stage_run_in_a_separate_pipeline():
    first, torch_, second, linalg, third = names(
        insert_passes=[("torch", own), ("raw", own), ("linalg", "cse"), ("torch", "symbol-dce")]
    )
    assert first == ("raw-inserted", ["own"], "raw")
    assert second == ("torch-inserted", ["own", "symbol-dce"], "torch")
    assert third == ("linalg-inserted", ["cse"], "linalg")
    assert [torch_, linalg] == names()


def test_passes_after_a_pass_run_in_the_given_order():
    passes = [("convert-torch-to-scf", own), ("convert-torch-to-scf", "cse")]
    _, (_, steps, reached) = names(insert_passes=passes)
    place = steps.index("convert-torch-to-scf")
    assert steps[place + 1 : place + 4] == ["own", "cse", "convert-torch-to-arith"]
    assert reached == "linalg"


def test_number_selects_among_passes_of_the_same_name():
    (_, before, _), (_, after, _) = names()
    (_, first, _), _ = names(insert_passes=[("canonicalize", own)])
    assert first.index("own") == before.index("canonicalize") + 1
    # The pipeline to torch has two passes of that name.
    _, (_, third, _) = names(insert_passes=[("canonicalize:3", own)])
    assert third.index("own") == after.index("canonicalize") + 1


@pytest.mark.parametrize(
    ("stop_after", "count", "last", "reached"),
    [
        ("torch", 1, "canonicalize", "torch"),
        ("inline", 1, "inline", "after inline"),
        ("linalg", 2, "linalg-nan-order", "linalg"),
        ("cse", 2, "cse", "after cse"),
        ("linalg-nan-order", 2, "linalg-nan-order", "linalg"),
    ],
)
def test_the_path_ends_after_a_stage_or_a_pass(stop_after, count, last, reached):
    path = names(stop_after=stop_after)
    assert len(path) == count
    assert path[-1][1][-1] == last and path[-1][2] == reached


def test_passes_inserted_at_a_stage_belong_to_it():
    path = names(insert_passes=[("torch", own)], stop_after="torch")
    assert [name for name, _, _ in path] == ["torch", "torch-inserted"]
    assert names(insert_passes=[("raw", own)], stop_after="raw") == [
        ("raw-inserted", ["own"], "raw")
    ]
    assert names(stop_after="raw") == []


def test_path_that_starts_at_torch():
    path = names(stage="torch", insert_passes=[("torch", own)])
    assert [(name, reached) for name, _, reached in path] == [
        ("torch-inserted", "torch"),
        ("linalg", "linalg"),
    ]


@pytest.mark.parametrize(
    ("changes", "cause", "hint"),
    [
        ({"stop_after": "tosa"}, "no step tosa between raw and linalg", None),
        ({"stop_after": "inlin"}, "no step inlin between", "inline"),
        ({"stop_after": "canonicalize:0"}, "no step canonicalize:0 between", "occurs 6 times"),
        ({"insert_passes": [("cse", "nope{x}")]}, "'nope{x}' is not a pass", None),
        ({"insert_passes": [("cse", "no.py:own")]}, "no file no.py", "FILE.py:NAME"),
        ({"backend_legal_ops": ["aten.sofmax.int"]}, "there is no operator", "aten.softmax.int"),
    ],
)
def test_unknown_names_are_usage_errors(changes, cause, hint):
    with pytest.raises(Error) as caught:
        names(**changes)
    assert caught.value.stage == "usage" and cause in caught.value.cause
    assert hint is None or hint in caught.value.hint


def test_module_stopped_inside_a_pipeline_is_not_lowered():
    with pytest.raises(Error, match="cannot lower a module at stage after cse to linalg"):
        plan("after cse", "linalg", Changes())
