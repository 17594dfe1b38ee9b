"""A worker that dies while it lowers a model costs one stage."""

import contextlib

import pytest

from unmess.core.errors.error import Error
from unmess.core.errors.stages import IR_STAGES
from unmess.isolated import Options
from unmess.recipe_page.facts import ProgramFacts, StageFacts, Tensors
from unmess.recipe_page.gathering import described
from unmess.recipe_page.work import Begun

NONE = Tensors(0, 0, 0)


def program(is_captured=True):
    return ProgramFacts("net", "non-strict", 1.0, {}, NONE, NONE, (), is_captured)


class Worker:
    """A worker that sends messages, and dies afterwards if `death` is not None."""

    hint = "a hint"

    def __init__(self, messages, death):
        self._messages, self.death = messages, death

    def allow(self, seconds):
        assert seconds == 7.0

    def messages(self, on_output):
        yield from self._messages


class Parent:
    """Starts one worker for each of `scripts`, and records the stages that each is to lower to."""

    def __init__(self, *scripts):
        self._scripts = list(scripts)
        self.asked = []

    def start(self, function, model, options, stages):
        self.asked.append(stages)
        return contextlib.nullcontext(Worker(*self._scripts.pop(0)))


def run(*scripts):
    parent, begun = Parent(*scripts), []
    options = Options(timeout=7.0)
    found = described(
        parent, "net.py", options, on_stage=begun.append, on_output=lambda _line: None
    )
    return parent, begun, found


def test_a_crash_costs_one_stage():
    parent, begun, found = run(
        ([program(), StageFacts("raw"), StageFacts("torch"), Begun("linalg")], "crashed"),
        ([program(), StageFacts("tosa"), StageFacts("stablehlo")], None),
    )
    assert parent.asked == [IR_STAGES, ("tosa", "stablehlo")]
    assert [stage.stage for stage in found.stages] == list(IR_STAGES)
    errors = {stage.stage: stage.error for stage in found.stages if stage.error}
    assert list(errors) == ["linalg"] and begun == ["linalg"]
    error = errors["linalg"]
    assert (error.stage, error.cause, error.hint) == ("linalg", "crashed in stage linalg", "a hint")


@pytest.mark.parametrize("message", [Begun("capture"), Error("capture", "cannot export")])
def test_a_failed_capture_ends_it(message):
    parent, _, found = run(([message], "crashed" if isinstance(message, Begun) else None))
    assert len(parent.asked) == 1
    assert found.program is None and found.stages == [] and found.error.stage == "capture"


def test_stages_before_that_of_an_ir_file_are_left_out():
    no_way = [StageFacts(stage, Error("usage", "not before tosa")) for stage in ("raw", "torch")]
    good = [StageFacts("linalg"), StageFacts("tosa")]
    bad = [StageFacts("stablehlo", Error("stablehlo", "no lowering"))]
    _, _, found = run(([program(is_captured=False), *no_way, *good, *bad], None))
    assert [stage.stage for stage in found.stages] == ["linalg", "tosa", "stablehlo"]
