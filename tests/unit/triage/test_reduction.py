"""The reduction of traces, with a predicate in place of checks in workers."""

from types import SimpleNamespace

import pytest

from unmess.row import Row
from unmess.triage.failure import Failure
from unmess.triage.program_text import program_text
from unmess.triage.reduction import Reduction
from unmess.triage.trace import Call, Reference, Trace, Value
from unmess.triage.trials import TimeUp, dynamic_of

FAILURE = Failure("compile", "error", "no code")
ROW = Row("model", "reference", ok=False, stage="compile", error="no code")


def tensor(name, shape=(8, 6), **more):
    return Value(name, f"load({name!r})", shape, "float32", **more)


def chain(count, **more):
    """Returns a chain of `count` calls, `c0` to `cN`, each of the previous value and a weight."""
    weight = tensor("w", is_weight=True)
    values = [tensor("x", **more), *(tensor(f"c{n}", **more) for n in range(count))]
    calls = [
        Call(value, f"f{n}", (Reference(values[n].name), Reference("w"), 8), operator=f"aten.f{n}")
        for n, value in enumerate(values[1:])
    ]
    return Trace((values[0], weight), tuple(calls), (values[-1].name,))


def functions(trace):
    return [call.function for call in trace.calls]


def reduce(trace, fails, most=1000):
    """Returns the smallest program that `fails`, and the number of checks."""
    best, count = [], 0

    def failure_of(candidate, _about):
        nonlocal count
        count += 1
        if count > most:
            raise TimeUp
        return FAILURE if fails(candidate) else None

    trials = SimpleNamespace(failure_of=failure_of)
    try:
        assert Reduction(trials, FAILURE, ROW, best.append).run(trace) == bool(best)
    except TimeUp:
        count = most
    return best[-1] if best else None, count


def test_one_call_is_left():
    found, count = reduce(chain(200), lambda each: "f117" in functions(each))
    assert functions(found) == ["f117"]
    assert [value.name for value in found.inputs] == ["w", "c116"]
    assert found.outputs == ("c117",)
    assert count < 30


def test_calls_that_fail_together_stay():
    found, _ = reduce(chain(60), lambda each: {"f5", "f40"} <= set(functions(each)))
    assert functions(found) == ["f5", "f40"]
    assert [value.name for value in found.inputs] == ["w", "c4", "c39"]


def test_sizes_and_the_constants_like_them_shrink_together():
    found, _ = reduce(chain(3), lambda each: "f1" in functions(each))
    assert {value.shape for value in found.inputs} == {(2, 2)}
    assert found.calls[0].args[-1] == 2
    assert "torch.randn(2, 2)" in program_text(found)


def test_a_size_that_matters_is_kept():
    found, _ = reduce(
        chain(3), lambda each: "f1" in functions(each) and each.inputs[-1].shape[0] >= 4
    )
    assert {value.shape for value in found.inputs} == {(4, 2)}


def test_recorded_values_that_matter_are_kept():
    found, _ = reduce(
        chain(3), lambda each: "f1" in functions(each) and "load" in each.inputs[-1].expression
    )
    assert found.inputs[-1].expression.startswith("load('c0')")
    assert found.inputs[0].expression.startswith("torch.randn")


def test_weights_stay_weights_where_that_matters():
    found, _ = reduce(chain(3), lambda each: any(value.is_weight for value in each.inputs))
    assert "self.register_buffer('w', " in program_text(found)


@pytest.mark.parametrize("matters", [False, True])
def test_dynamic_sizes_are_kept_only_where_they_matter(matters):
    trace = chain(5, dynamic=((0, "s0"),))
    found, _ = reduce(
        trace, lambda each: "f3" in functions(each) and (bool(dynamic_of(each)) or not matters)
    )
    assert functions(found) == ["f3"]
    assert dynamic_of(found) == (("c2.0=s0",) if matters else ())


def test_a_tuple_stays_with_the_calls_that_take_its_elements():
    pair = Call(Value("pair"), "topk", (Reference("x"),), operator="aten.topk")
    parts = [
        Call(tensor(f"part{n}"), "getitem", (Reference("pair"), n), part_of="pair")
        for n in range(2)
    ]
    last = Call(tensor("y"), "add", (Reference("part0"), Reference("part1")), operator="add")
    trace = Trace((tensor("x"),), (pair, *parts, last), ("y",))
    assert trace.operators == 2
    found, _ = reduce(trace, lambda each: "add" in functions(each))
    assert functions(found) == ["add"]
    found, _ = reduce(trace, lambda each: "topk" in functions(each))
    assert functions(found) == ["topk", "getitem"]


def test_a_value_without_code_cannot_be_cut_off():
    made = Call(Value("object"), "make", (Reference("x"),), operator="make")
    used = Call(tensor("y"), "use", (Reference("object"),), operator="use")
    trace = Trace((tensor("x"),), (made, used), ("y",))
    assert trace.cut([1]) is None
    found, _ = reduce(trace, lambda each: "use" in functions(each))
    assert functions(found) == ["make", "use"]


def test_the_end_of_the_time_keeps_the_best_program():
    found, count = reduce(chain(200), lambda each: "f117" in functions(each), most=4)
    assert count == 4
    assert 1 < len(found.calls) < 200


def test_a_trace_that_does_not_fail_is_not_reduced():
    assert reduce(chain(9), lambda _each: False) == (None, 2)
