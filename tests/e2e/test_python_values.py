"""Tests of Python values as inputs and results, compared with eager PyTorch."""

import collections

import pytest
import torch

import unmess

X = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))

CASES = {
    "int": (lambda x, n: x * n, (X, 3)),
    "float": (lambda x, n: x * n, (X, 2.5)),
    "bool": (lambda x, flag: x + 1 if flag else x - 1, (X, False)),
    "str": (lambda x, mode: x.sum() if mode == "sum" else x.mean(), (X, "mean")),
    "None": (lambda x, other: x if other is None else x + other, (X, None)),
    "NaN": (lambda x, n: x * n, (X, float("nan"))),
    "containers": (lambda xs, d: xs[0] * d["scale"] + d["x"], ([X, 1], {"x": X, "scale": 2})),
    "any number of them": (lambda *xs: sum(xs), (X, X, X)),
    "no input": (lambda: torch.arange(4.0), ()),
    "only numbers out": (lambda x: (x.shape[0], x.shape[1] / 2, x.shape[0] > 2), (X,)),
    "only None out": (lambda x: None, (X,)),
    "nothing out": (lambda x: (), (X,)),
    "None among results": (lambda x: (None, x + 1, None), (X,)),
    "the same twice": (lambda x: (x + 1,) * 2, (X,)),
    "an input, a constant": (lambda x: [x, torch.ones(2), {"text": "t"}], (X,)),
    "ordered dict": (lambda x: collections.OrderedDict(b=x, a=x + 1), (X,)),
    "float from a tensor": (lambda x: (x.sum().item(), x), (X,)),
    "int from a tensor": (lambda x: x.argmax().item() + 1, (X,)),
}


@pytest.mark.parametrize("case", CASES)
def test_on_the_reference_runner(case):
    function, args = CASES[case]
    program = unmess.capture(function, args)
    assert program.strategy == "non-strict"
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


@pytest.mark.parametrize("case", ["containers", "only numbers out", "float from a tensor"])
def test_on_iree(case):
    report = unmess.check(unmess.capture(*CASES[case]), on="iree-cpu", calls=1)
    assert report.ok, report.error


def test_numbers_from_a_dynamic_size():
    rows = torch.export.Dim("rows", min=2, max=9)
    program = unmess.capture(
        lambda x: {"rows": x.shape[0], "half": x.shape[0] / 2, "x": x * 2},
        (X,),
        dynamic_shapes=({0: rows},),
    )
    run = unmess.load(program)
    for count in (2, 5):
        result = run(torch.ones(count, 4))
        assert (result["rows"], result["half"]) == (count, count / 2)
        assert type(result["rows"]) is int and type(result["half"]) is float


def test_an_input_that_capture_fixed_is_noted_and_checked():
    program = unmess.capture(lambda x, n, mode: x * n, (X, 3, "a"))
    (note,) = [note for note in program.notes if note.kind == "specialized"]
    assert note.text == "fixed to the example's values: n=3, mode='a'"
    run = unmess.load(program)
    for wrong in ((X, 4, "a"), (X, 3.0, "a"), (X, True, "a"), (X, 3, "b"), (X, None, "a")):
        with pytest.raises(unmess.Error, match="but the capture fixed it to"):
            run(*wrong)


def test_a_wrong_number_is_found():
    calls = []

    def function(x):
        calls.append(x)
        return x * 1.0, 0.5 + 0.25 * (len(calls) > 1)

    report = unmess.check(unmess.capture(function, (X,)), on="reference", calls=1)
    assert not report.ok
    assert report.error.startswith("result[1]")
