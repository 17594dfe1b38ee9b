"""Checks of sizes before a call runs: ranges, relations between dimensions, and guards."""

import pytest
import torch
from torch.utils import _pytree as pytree

import unmess
from unmess.core.signature.signature import Input, ScalarSpec, TensorSpec
from unmess.core.signature.size_expression import Dim, SizeExpression
from unmess.core.signature.torch_signature import TorchSignature


def signature(*specs, guards=()):
    """Returns the signature of a call with one positional argument for each spec: a, b, c."""
    inputs = tuple(Input(name, spec) for name, spec in zip("abc", specs, strict=False))
    _, in_spec = pytree.tree_flatten((tuple(range(len(specs))), {}))
    _, out_spec = pytree.tree_flatten(())
    guards = tuple(SizeExpression(guard) for guard in guards)
    return TorchSignature(in_spec, inputs, (), (), out_spec, (), guards=guards)


def tensor(*shape):
    return TensorSpec(shape, torch.float32)


def sizes(found, *shapes):
    return found.symbols([torch.zeros(shape) for shape in shapes], {})


N = Dim("n", 2, 8)


def test_symbols_of_a_call():
    found = signature(tensor(N, 3), tensor(Dim("m", 0, None), N))
    assert sizes(found, (4, 3), (7, 4)) == {"n": 4, "m": 7}


@pytest.mark.parametrize("size", [1, 9])
def test_a_size_out_of_range(size):
    with pytest.raises(unmess.Error, match=rf"a.shape\[0\] is {size}, expected 2 to 8") as caught:
        sizes(signature(tensor(N)), (size,))
    assert caught.value.stage == "run"


def test_sizes_that_must_be_equal():
    message = r"b.shape\[1\] is 5, but a.shape\[0\] is 4: they must be equal"
    with pytest.raises(unmess.Error, match=message):
        sizes(signature(tensor(N), tensor(3, N)), (4,), (3, 5))


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 0, 2), (0, 2, 1)])
def test_sums_of_symbols_in_any_order(order):
    dims = [Dim("n + m", 0, None), Dim("2*n", 0, None), Dim("n + m", 0, None)]
    found = signature(tensor(*(dims[index] for index in order)))
    assert sizes(found, [(5, 4, 5)[index] for index in order]) == {"n": 2, "m": 3}
    with pytest.raises(unmess.Error, match=r"is 9, expected 5|is 5, expected 9"):
        sizes(found, [(5, 4, 9)[index] for index in order])


def test_equal_expressions_that_determine_no_symbol():
    found = signature(tensor(Dim("n*m", 0, None), Dim("n*m", 0, None)))
    assert sizes(found, (6, 6)) == {}
    message = r"a.shape\[1\] is 8, but a.shape\[0\] is 6: they must be equal"
    with pytest.raises(unmess.Error, match=message):
        sizes(found, (6, 8))


def test_a_derived_size_beside_its_symbol_in_any_order():
    double = Dim("2*n + 1", 5, 17)
    for specs, shapes in (((N, double), (4, 9)), ((double, N), (9, 4))):
        assert sizes(signature(tensor(*specs)), shapes) == {"n": 4}
    with pytest.raises(unmess.Error, match=r"is 8, expected 9 \(2\*n \+ 1, where .* is 4\)"):
        sizes(signature(tensor(N, double)), (4, 8))


def test_a_derived_size_alone_must_be_a_multiple():
    found = signature(tensor(Dim("8*n", 8, None)))
    assert sizes(found, (24,)) == {"n": 3}
    message = r"a.shape\[0\] is 20, but must be 8\*n for an integer n"
    with pytest.raises(unmess.Error, match=message):
        sizes(found, (20,))


def test_guards():
    found = signature(
        tensor(Dim("n", 0, None)),
        tensor(Dim("m", 0, None)),
        guards=["(a.shape[0] + b.shape[0]) % 4 == 0"],
    )
    assert sizes(found, (3,), (5,)) == {"n": 3, "m": 5}
    with pytest.raises(unmess.Error, match=r"% 4 == 0, but a.shape\[0\] is 3, b.shape\[0\] is 4"):
        sizes(found, (3,), (4,))


def test_guards_can_use_scalar_arguments():
    found = signature(
        tensor(Dim("n", 0, None)), ScalarSpec(int), guards=["c <= 3", "b < a.shape[0]"]
    )
    found.flatten_call((torch.zeros(3), 2), {})
    with pytest.raises(unmess.Error, match=r"b < a\.shape"):
        found.flatten_call((torch.zeros(3), 3), {})


def test_shapes_at_other_sizes():
    found = signature(tensor(N, Dim("2*n", 4, 16)), tensor(5), guards=["a.shape[0] % 2 == 0"])
    assert found.shapes({"n": 6}, {}) == {"a": (6, 12)}
    assert found.shapes({"n": 3}, {}) is None, "the guard does not hold"
    assert found.shapes({"n": 10}, {}) is None, "out of range"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2*n + m//2", 13),
        ("(n - 1) % 3 == m % 3 and not n < m", True),
        ("1 <= n <= 4", False),
        ("Max(n, m) - Mod(n, 4)", 4),
        ("-n", -6),
        ("math.ceil(n / 4)", 2),
        ("TruncToInt(0.4*ToFloat(n))", 2),
        ("round(torch.sym_float(n) / 4)", 2),
        ("torch.sym_ite(n < m, n, n**2) + (m << 1)", 40),
    ],
)
def test_expressions(text, value):
    assert SizeExpression(text).evaluate({"n": 6, "m": 2}) == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "n.real", "[n]", "n if m else 1", "n +", "~n", "'n'"]
)
def test_only_arithmetic_is_accepted(text):
    with pytest.raises(ValueError):
        SizeExpression(text)
