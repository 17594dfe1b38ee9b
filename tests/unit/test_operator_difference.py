"""Tests that compare results of operators with eager's."""

import torch

from pipelines.backends.backend import Numerics
from unmess.conformance.operators.case import Accuracy
from unmess.conformance.operators.difference import difference


def test_a_float64_result_of_a_float32_operand():
    """A sum in float32 is not the sum of the operand in float64."""
    function = lambda x, y: x * y.sum()  # noqa: E731
    args = torch.ones(2, dtype=torch.float64), torch.rand(999, generator=torch.manual_seed(0))
    result = function(*args)
    exact = function(args[0], args[1].double())
    accuracy = Accuracy(16, "worst", of_largest=16)
    assert difference(function, args, result, accuracy, Numerics()) is None
    assert difference(function, args, exact, accuracy, Numerics()) is not None
