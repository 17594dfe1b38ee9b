"""Rows of `check`: plain data, JSON without NaN, exit statuses and the text of errors."""

import json
import math

import pytest

from unmess.cli.check import _text
from unmess.cli.session import _without_nan
from unmess.core.errors.error import Error
from unmess.core.errors.failure import as_error, full_cause
from unmess.row import STEPS, Row


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, None])
def test_a_difference_that_is_not_finite_is_null(number):
    row = Row("m", "r", False, "compare", "differs", number, number)
    assert (row.max_abs_error, row.max_rel_error) == (None, None)
    json.dumps(row.as_json(), allow_nan=False)


def test_seconds_has_every_step():
    row = Row("m", "r", True, "done", seconds={"capture": 1.5})
    assert row.as_json()["seconds"] == {"capture": 1.5} | dict.fromkeys(STEPS[1:])


@pytest.mark.parametrize(
    ("ok", "stage", "status"),
    [
        (True, "done", 0),
        (False, "compare", 1),
        (False, "source", 2),
        (False, "usage", 2),
        (False, "capture", 3),
        (False, "compile", 3),
        (False, "run", 3),
    ],
)
def test_exit_status(ok, stage, status):
    assert Row("m", "r", ok, stage).exit_status == status


def test_equal_errors_are_printed_once():
    error = Error("linalg", "no such op", where="m.py:3", hint="another op", repro="/x.mlir")
    rows = [Row.failed("m.py", runner, error, detail="MLIRError: x") for runner in ("a", "b")]
    text = _text(rows, verbose=False)
    assert text == (
        "linalg: no such op\n"
        "  model: m.py on a, b\n"
        "  at: m.py:3\n"
        "  hint: another op\n"
        "  repro: /x.mlir"
    )
    assert _text(rows, verbose=True) == f"{text}\n  in full:\n    MLIRError: x"


def test_a_row_that_is_ok_prints_its_notes_only():
    row = Row("m.py", "a", True, "done", notes=["state: count"])
    assert _text([row], verbose=False) == ""
    assert _text([row], verbose=True) == "m.py on a\n  note: state: count"


def test_json_without_nan():
    document = {"a": [1.0, math.nan, (math.inf,)], "b": {"c": -math.inf, "d": 2}}
    assert _without_nan(document) == {"a": [1.0, None, [None]], "b": {"c": None, "d": 2}}


def test_full_cause_is_the_whole_chain():
    try:
        try:
            raise KeyError("deep\nsecond line")
        except KeyError as problem:
            raise Error("capture", "short") from problem
    except Error as error:
        assert full_cause(error) == "KeyError: 'deep\\nsecond line'"
    assert full_cause(Error("capture", "alone")) is None
    assert full_cause(ValueError("ours")) == "ValueError: ours"


def test_other_exceptions_become_internal_errors():
    error = as_error(TypeError("wrong"), "compile")
    assert (error.stage, error.cause) == ("compile", "internal error: TypeError: wrong")
    assert "--debug" in error.hint
    known = Error("run", "x")
    assert as_error(known, "compile") is known
