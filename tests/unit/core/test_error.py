import pickle

import pytest

from unmess.core.errors.error import Error, first_line


def test_text_has_one_line_for_each_part():
    error = Error("linalg", "first\n  second", where="a.py:3", hint="do this", repro="x.mlir")
    assert error.cause == "first second"
    assert str(error).splitlines() == [
        "linalg: first second",
        "  at: a.py:3",
        "  hint: do this",
        "  repro: x.mlir",
    ]


def test_unknown_parts_are_not_printed():
    assert str(Error("run", "stopped")) == "run: stopped"


def test_errors_can_be_pickled():
    error = Error("run", "cause", where="a.py:1", hint="h", repro="r")
    copy = pickle.loads(pickle.dumps(error))
    assert vars(copy) == vars(error)


@pytest.mark.parametrize(
    ("stage", "status"), [("usage", 2), ("source", 2), ("compare", 1), ("capture", 3), ("run", 3)]
)
def test_exit_status(stage, status):
    assert Error(stage, "cause").exit_status == status


def test_a_stage_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="unknown stage"):
        Error("nowhere", "cause")


def test_first_line_skips_blank_lines_and_is_bounded():
    assert first_line(ValueError("\n\n  what  \nmore")) == "ValueError: what"
    assert first_line(KeyError()) == "KeyError"
    assert len(first_line(ValueError("x" * 1000))) == 300
