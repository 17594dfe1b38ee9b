"""The first wrong value, and its origin, with a predicate in place of checks in workers."""

from types import SimpleNamespace

import pytest

from unmess.row import Row
from unmess.triage.failure import Failure
from unmess.triage.numerics import cause_of, first_wrong, in_float64
from unmess.triage.program_text import program_text
from unmess.triage.trace import Call, Code, Reference, Trace, Value

FAILURE = Failure("compare", "wrong result", "")


def wrong_row(**more):
    error = "result[0]: differs by 1"
    return Row("model", "iree-cpu", ok=False, stage="compare", error=error, **more)


def tensor(name):
    return Value(name, f"load({name!r})", (2,), "float32")


def chain(count):
    values = [tensor("x"), *(tensor(f"c{n}") for n in range(count))]
    calls = [
        Call(value, "f", (Reference(values[n].name), [Code("torch.float32")], 2))
        for n, value in enumerate(values[1:])
    ]
    return Trace((values[0],), tuple(calls), (values[-1].name,))


@pytest.mark.parametrize("wrong", [0, 63, 64, 150])
def test_the_first_wrong_value_is_found_in_any_chunk(wrong):
    asked = []

    def check_trace(trace, _about):
        asked.append(trace)
        bad = [place for place, name in enumerate(trace.outputs) if int(name[1:]) >= wrong]
        if not bad:
            return Row("model", "iree-cpu", ok=True, stage="done")
        error = f"result[{bad[0]}]: shape (), eager gives (1,)"
        return Row("model", "iree-cpu", ok=False, stage="compare", error=error)

    found = first_wrong(SimpleNamespace(check_trace=check_trace), chain(151))
    assert found.call.value.name == f"c{wrong}"
    assert (found.right, found.error) == (wrong, "shape (), eager gives (1,)")
    # Calls after a chunk are left out of its program.
    assert len(asked[0].calls) == 64


def test_no_value_is_wrong():
    right = Row("model", "iree-cpu", ok=True, stage="done")
    assert first_wrong(SimpleNamespace(check_trace=lambda *_: right), chain(70)) is None


@pytest.mark.parametrize(
    ("row", "in_double", "elsewhere", "origin"),
    [
        (
            wrong_row(with_plain={"preset": "data-tiling", "ok": True}),
            1,
            1,
            "the preset data-tiling",
        ),
        (wrong_row(max_rel_error=1e-4), "right", "wrong", "precision"),
        (wrong_row(max_rel_error=1e-4), "wrong", "wrong", "the lowering"),
        # An error of 0.5 is too large for rounding. For NaN, there is no error value.
        (wrong_row(max_rel_error=0.5), "right", "right", "the compiler or the runtime of iree-cpu"),
        (wrong_row(), "right", "wrong", "the lowering"),
        (wrong_row(), "right", "fails", "unknown"),
    ],
)
def test_the_origin_of_a_wrong_value(row, in_double, elsewhere, origin):
    def failure_of(trace, _about):
        assert trace.inputs[0].dtype == "float64"
        return None if in_double == "right" else FAILURE

    def check_trace(_trace, _about, runner):
        assert runner == "reference"
        if elsewhere == "wrong":
            return wrong_row()
        stage = "done" if elsewhere == "right" else "compile"
        return Row("model", runner, ok=elsewhere == "right", stage=stage)

    trials = SimpleNamespace(failure_of=failure_of, check_trace=check_trace, runner="iree-cpu")
    assert cause_of(trials, chain(1), row, FAILURE).startswith(origin)


def test_a_program_in_float64():
    text = program_text(in_float64(chain(1)))
    assert "load('x').double()," in text
    assert "f(x, [torch.float64], 2)" in text
