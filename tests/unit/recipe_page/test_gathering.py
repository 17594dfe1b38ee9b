"""Which checks a recipe page makes, from what the capture found."""

import pytest

from importers.recipes import Recipe
from importers.recipes.limits import Limit
from unmess.core.errors.error import Error
from unmess.isolated import Options
from unmess.recipe_page import gathering
from unmess.recipe_page.facts import ProgramFacts, StageFacts, Tensors
from unmess.recipe_page.gathering import DYNAMIC, Described, gather
from unmess.row import Row

NONE = Tensors(0, 0, 0)
PLACES = [("reference", "linalg"), ("reference", "tosa"), ("iree-cpu", "linalg")]


def program(*shapes, entries=1, **more):
    inputs = [{"name": "x", "dtype": "float32", "shape": shape} for shape in shapes]
    calls = {f"f{number}": {"inputs": inputs, "results": []} for number in range(entries)}
    return ProgramFacts("net", "strict", 1.0, calls, NONE, NONE, (), **more)


class Check:
    """Records the checks. Those at a place in `errors` fail.

    Checks with dynamic sizes fail with `dynamic_error` instead, if it is not None.
    """

    def __init__(self, errors=(), dynamic_error=None):
        self.errors, self.dynamic_error, self.calls = dict(errors), dynamic_error, []

    def __call__(self, _parent, model, places, options, **_):
        self.calls.append((options.dynamic, list(places)))
        for runner, via in places:
            error = self.dynamic_error if options.dynamic else self.errors.get((runner, via))
            if error is None:
                yield Row(model, runner, True, "done", via=via)
            else:
                yield Row.failed(model, runner, error, via=via)


@pytest.fixture
def run(monkeypatch):
    def run(found, check=None, model="net.py", options=None, **more):
        check = check or Check()
        monkeypatch.setattr(gathering, "described", lambda *_, **__: found)
        monkeypatch.setattr(gathering, "check_isolated", check)
        options = options or Options()
        facts = gather(None, model, options, PLACES, on_stage=print, on_output=print, **more)
        return facts, check.calls

    return run


def test_the_first_dimension_is_tried_on_runners_that_work(run):
    check = Check({("iree-cpu", "linalg"): Error("compile", "no")})
    facts, calls = run(Described(program([2, 3])), check)
    assert calls == [((), PLACES), ((DYNAMIC,), [("reference", None)])]
    assert [row.ok for row in facts.rows] == [True, True, False]
    assert facts.dynamic == DYNAMIC and [row.runner for row in facts.tried] == ["reference"]


def test_a_dimension_that_the_model_fixes_is_on_the_page(run):
    error = Error("capture", "the model fixes it to 2")
    facts, _ = run(Described(program([2, 3])), Check(dynamic_error=error))
    assert [row.error for row in facts.tried] == ["the model fixes it to 2"] * 2


@pytest.mark.parametrize(
    "found",
    [
        program(["2*n", 3]),
        program([]),
        program(None),
        program([2], entries=2),
        program([2], is_captured=False),
    ],
    ids=["dynamic", "numbers", "constants", "several entries", "IR"],
)
def test_programs_without_a_dimension_to_try(run, found):
    facts, calls = run(Described(found))
    assert len(calls) == 1 and facts.dynamic is None and facts.tried == ()


def test_nothing_is_tried_beside_the_dimensions_of_the_user(run):
    options = Options(dynamic=("x.1=n",))
    _, calls = run(Described(program([2, 3])), options=options)
    assert [dynamic for dynamic, _ in calls] == [("x.1=n",)]


def test_saved_programs_take_no_dynamic_dimension(run):
    error = Error("usage", "its dynamic dimensions are fixed")
    facts, _ = run(Described(program([2, 3])), Check(dynamic_error=error))
    assert facts.dynamic is None and facts.tried == ()


def test_ir_is_checked_at_the_stages_that_it_can_reach(run):
    stages = [StageFacts("linalg"), StageFacts("stablehlo")]
    _, calls = run(Described(program([2], is_captured=False), stages=stages))
    assert calls == [((), [("reference", "linalg"), ("iree-cpu", "linalg")])]


def test_a_failed_capture_is_a_row_of_each_place(run):
    facts, calls = run(Described(error=Error("capture", "cannot export")))
    assert calls == [] and facts.program is None
    assert [(row.runner, row.via, row.stage) for row in facts.rows] == [
        (*place, "capture") for place in PLACES
    ]


def test_rows_of_a_matrix_replace_the_checks(run):
    row = Row("net.py", "reference", True, "done")
    facts, calls = run(Described(program([2])), rows=[row], folder="out")
    assert calls == [] and facts.rows == (row,) and facts.folder == "out"


@pytest.mark.parametrize("stage", ["usage", "source"])
def test_a_model_that_does_not_exist_is_an_error(run, stage):
    error = Error(stage, "there is none")
    with pytest.raises(Error, match="there is none"):
        run(Described(error=error))


def test_a_model_that_is_known_not_to_be_built_has_a_page(run, monkeypatch):
    limit = Limit("source", "it requires another package")
    recipe = Recipe("hf:odd", "hf", "decoder", not_built=limit)
    monkeypatch.setattr(gathering, "list_recipes", lambda: [recipe])
    facts, _ = run(Described(error=Error("source", limit.cause)), model="hf:odd")
    assert facts.limits == (limit,) and facts.task == "decoder"
    assert {row.stage for row in facts.rows} == {"source"}
