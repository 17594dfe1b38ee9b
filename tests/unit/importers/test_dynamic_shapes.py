"""Tests how declared dynamic dimensions reach the program's signature."""

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import unmess
from importers import decompositions
from unmess.core.program.strides import resized

X = torch.randn(3, 4)
ONE = torch.randn(1, 4)
B, S = Dim("b"), Dim("s", min=2, max=64)


def shapes(program):
    return [
        tuple(size if isinstance(size, int) else size.expression for size in leaf.spec.shape)
        for leaf in program.signature.inputs
    ]


def notes(program, kind):
    return [note.text for note in program.notes if note.kind == kind]


def add(x, y):
    return x + y


def double(x):
    return x * 2


def pairs(x):
    return x.reshape(-1, 2).sum(1)


def long(x):
    return x * 2 if x.shape[0] > 4 else x


def fixed(x):
    return x + torch.ones(3, 4)


def nested(x):
    return x["a"] + x["b"][0]


@pytest.mark.parametrize(
    ("function", "args", "declared", "expected"),
    [
        (add, (X, X), ({0: B}, {0: B}), [("b", 4), ("b", 4)]),
        (add, (X, X), ["x.0=b", "y.0=b"], [("b", 4), ("b", 4)]),
        (add, (X, X), ["*.0=n:2..9"], [("n", 4), ("n", 4)]),
        (add, (X, X), ["0.0=n,1.0=m"], [("n", 4), ("n", 4)]),
        (lambda x, y: x + y[1:], (X, X[[0, 1, 2, 0]]), ["x.0=n,y.0=m"], [("n", 4), ("n + 1", 4)]),
        (pairs, (X,), ["x.1=2*n"], [(3, "2*n")]),
        (lambda x: pairs(x[:, 0]), (X.repeat(2, 1),), ["x.0=n"], [("2*_n", 4)]),
        (nested, ({"a": X, "b": [X]},), ["x.a.0=n", "0.b.0.0=n"], [("n", 4), ("n", 4)]),
        (nested, ({"a": X, "b": [X]},), ({"a": {0: B}, "b": [{0: B}]},), [("b", 4), ("b", 4)]),
    ],
)
def test_symbols_keep_user_names_and_model_relations(function, args, declared, expected):
    assert shapes(unmess.capture(function, args, dynamic_shapes=declared)) == expected


def test_unnamed_sizes_get_their_relations_from_the_model():
    program = unmess.capture(add, (X, X), dynamic_shapes=["x.0", "y.0"])
    (first, _), (second, _) = shapes(program)
    assert first == second and isinstance(first, str)


def test_range_required_by_the_model_is_applied_and_noted():
    program = unmess.capture(long, (torch.randn(6),), dynamic_shapes=["x.0=n"])
    assert notes(program, "dynamic") == ["n = x.shape[0], at least 5"]
    run = unmess.load(program, on="reference")
    with pytest.raises(unmess.Error, match=r"x.shape\[0\] is 4, expected at least 5"):
        run(torch.randn(4))


@pytest.mark.parametrize("declared", [({0: B},), ({0: Dim.AUTO},), ["x.0=n"], ["x.0"]])
def test_an_example_of_size_1_is_enlarged_and_stays_dynamic(declared):
    program = unmess.capture(double, (ONE,), dynamic_shapes=declared)
    assert isinstance(shapes(program)[0][0], str)
    assert program.args[0].shape == (2, 4)
    assert "x.shape[0] from 1 to 2" in notes(program, "example")[0]
    assert ONE.shape == (1, 4)


def test_dim_auto_size_that_the_model_fixes_is_noted():
    program = unmess.capture(fixed, (X,), dynamic_shapes=({0: Dim.AUTO},))
    assert shapes(program) == [(3, 4)]
    assert notes(program, "specialized") == ["the model fixes x.shape[0] (Dim.AUTO) to 3"]


def test_guards_over_several_sizes_are_kept():
    def function(x, y):
        return torch.cat([x, y]).reshape(-1, 4)

    program = unmess.capture(
        function, (torch.ones(3), torch.ones(5)), dynamic_shapes=["x.0", "y.0"]
    )
    with pytest.raises(unmess.Error, match=r"% 4\) == 0, but y.shape\[0\] is 4, x.shape"):
        program.signature.flatten_call((torch.ones(3), torch.ones(4)), {})
    program.signature.flatten_call((torch.ones(6), torch.ones(6)), {})


def test_guards_of_decompositions_are_checked(monkeypatch):
    """PyTorch's decomposition divides sizes that are multiples into windows of one size."""
    name = "adaptive average pooling of dynamic sizes"
    others = tuple(each for each in decompositions.DECOMPOSITIONS if each.name != name)
    monkeypatch.setattr(decompositions, "DECOMPOSITIONS", others)
    program = unmess.capture(
        lambda x: F.adaptive_avg_pool2d(x, (3, 2)),
        (torch.randn(1, 2, 6, 4),),
        dynamic_shapes=["x.2", "x.3"],
    )
    program.signature.flatten_call((torch.randn(1, 2, 6, 4),), {})
    with pytest.raises(unmess.Error, match=r"x\.shape\[2\] % 3"):
        program.signature.flatten_call((torch.randn(1, 2, 7, 4),), {})


ERRORS = {
    "unknown input": (double, (X,), ["z.0"], "usage", "the call has no input 'z'"),
    "not a tensor": (lambda x, n: x, (X, 3), ["n.0"], "usage", "is a int, which has no axes"),
    "axis in text": (double, (X,), ["x.2"], "usage", "has no axis 2: its example is 3x4"),
    "axis of all": (double, (X,), ["*.2"], "usage", "no input has an axis 2"),
    "axis in Python": (double, (X,), ({2: B},), "usage", "x has no axis 2"),
    "structure": (double, (X,), ({0: B}, {0: B}), "usage", "does not fit the call"),
    "names": (double, (X,), {"z": {0: B}}, "usage", "does not fit the call"),
    "not a multiple": (double, (X,), ["x.0=2*n"], "usage", "is 3, declared 2*n"),
    "out of range": (double, (X,), ["x.0=n:4..9"], "usage", "is 3, declared 4..9"),
    "one name, two sizes": (add, (X, X.T), ["*.0=n"], "usage", "n is 3 in the example's x.shape"),
    "empty example": (double, (X[:0],), ["x.0=n"], "usage", "which PyTorch treats as a constant"),
    "fixed": (fixed, (X,), ["x.0=n"], "capture", "dynamic (n), but the model fixes it to 3"),
    "fixed, without name": (fixed, (X,), ["x.0"], "capture", "specialized it to be a constant (3)"),
    "range": (
        long,
        (torch.randn(6),),
        ["x.0=n:2..9"],
        "capture",
        "only as 5..9, but it is declared as 2..9",
    ),
    "relation": (
        pairs,
        (torch.randn(6),),
        ({0: S},),
        "capture",
        "only as 2*_s, but it is declared as 2..64",
    ),
}


@pytest.mark.parametrize("case", ERRORS)
def test_invalid_declarations_raise(case):
    function, args, declared, stage, cause = ERRORS[case]
    with pytest.raises(unmess.Error) as caught:
        unmess.capture(function, args, dynamic_shapes=declared)
    assert caught.value.stage == stage
    assert cause in caught.value.cause
    assert caught.value.hint


def test_draft_export_does_not_fix_declared_dimensions():
    with pytest.raises(unmess.Error, match="declared dynamic, but the capture fixed it to 3"):
        unmess.capture(fixed, (X,), dynamic_shapes=["x.0=n"], strategy="draft")


def test_hint_explains_an_enlarged_example_that_fails():
    def function(x, y):
        return torch.cat([x, y], dim=1)

    with pytest.raises(unmess.Error) as caught:
        unmess.capture(function, (ONE, ONE), dynamic_shapes=["x.0=n"])
    assert caught.value.stage == "source"
    assert "x.shape[0] from 1 to 2" in caught.value.hint


def test_exported_program_keeps_its_own_dimensions():
    exported = torch.export.export(torch.nn.Identity(), (X,), dynamic_shapes=({0: B},))
    with pytest.raises(unmess.Error, match="whose dynamic dimensions are fixed"):
        unmess.capture(exported, dynamic_shapes=({0: B},))
    program = unmess.capture(exported)
    assert isinstance(shapes(program)[0][0], str)


def test_resized_indices_repeat_and_floats_are_distinct():
    indices = torch.tensor([[1, 5, 7]])
    assert torch.equal(resized(indices, (2, 5)), torch.tensor([[1, 5, 7, 1, 5]] * 2))
    larger = resized(torch.tensor([1.0, -2.0]), (6,))
    assert len(set(larger.tolist())) == 6
    assert larger.abs().max() == 2
    assert torch.equal(resized(larger, (2,)), larger[:2])
