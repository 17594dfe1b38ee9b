"""Tests that compare results of operators with eager's."""

import torch

from pipelines.backends.backend import Numerics
from unmess.conformance.operators.case import Accuracy
from unmess.conformance.operators.difference import difference

ACCURACY = Accuracy(16, "worst", of_largest=16)


def matches(function, args, actual):
    return difference(function, args, actual, ACCURACY, Numerics()) is None


def test_a_float64_result_of_a_float32_operand():
    """A sum in float32 is not the sum of the operand in float64."""
    function = lambda x, y: x * y.sum()  # noqa: E731
    args = torch.ones(2, dtype=torch.float64), torch.rand(999, generator=torch.manual_seed(0))
    exact = function(args[0], args[1].double())
    assert matches(function, args, function(*args))
    assert matches(function, args, function(*args) * (1 + 1e-15))
    assert abs(exact - function(*args)).max() > 1e-6
    assert not matches(function, args, exact * (1 + 1e-6))


def test_an_ill_conditioned_float64_result():
    """The difference of close numbers may be off by the rounding errors of its operands."""
    function = lambda x: (x + 1e6) - 1e6  # noqa: E731
    x = torch.rand(100, dtype=torch.float64, generator=torch.manual_seed(0))
    assert matches(function, (x,), x)
    assert not matches(function, (x,), x + 1e-8)
    assert not matches(torch.sin, (x,), x.sin() + 1e-13)


def test_a_complex_result():
    z = torch.view_as_complex(torch.rand(9, 2, generator=torch.manual_seed(0)).double())
    assert matches(torch.exp, (z,), z.exp() * (1 + 4e-16))
    assert not matches(torch.exp, (z,), z.exp() + 1e-12)
