"""Tests that random results are compared with eager's by distribution."""

import torch
import torch.nn.functional as F

from unmess.conformance.operators.difference import sample_difference

X = torch.ones(20, 20)


def drawn(function, count=10):
    torch.manual_seed(100)
    return [function(X) for _ in range(count)]


def test_the_same_distribution():
    for function in (torch.rand_like, lambda x: F.dropout(x, 0.3), lambda x: F.dropout1d(x, 0.3)):
        assert sample_difference(function, (X,), drawn(function)) is None


def test_rounding():
    """A dropout of ones has two values, so rounding changes many elements in the same way."""
    rounded = lambda x: F.dropout(x, 0.3) * (1 + 1e-6)  # noqa: E731
    assert sample_difference(lambda x: F.dropout(x, 0.3), (X,), drawn(rounded)) is None


def test_another_distribution():
    for theirs, ours in (
        (torch.rand_like, torch.randn_like),
        (torch.rand_like, lambda x: torch.rand_like(x) * 0.9),
        (lambda x: F.dropout(x, 0.3), lambda x: F.dropout(x, 0.4)),
        (lambda x: F.dropout(x, 0.3), lambda x: F.dropout(x, 0.3) * 0.7),
        (lambda x: F.dropout1d(x, 0.3), lambda x: F.dropout1d(x, 0.7)),
        (torch.rand_like, lambda x: torch.full_like(x, torch.nan)),
    ):
        assert sample_difference(theirs, (X,), drawn(ours)) is not None
