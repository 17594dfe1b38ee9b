"""Tests which results share memory with an argument or another result."""

import pytest
import torch

from pipelines.iree.ownership import shared

MEMORY = torch.zeros(1000)
A, B, C = MEMORY[0:100], MEMORY[100:200], MEMORY[200:300]
ACROSS = MEMORY[50:250]


@pytest.mark.parametrize(
    ("arguments", "results", "late"),
    [
        ([], [("output", A), ("output", B)], []),
        ([("input", A)], [("output", A)], [0]),
        ([("input", A)], [("output", A[10:20]), ("output", B)], [0]),
        ([("input", ACROSS)], [("output", A), ("output", B), ("output", MEMORY[300:])], [0, 1]),
        ([("input", A), ("input", A[:50])], [("output", B)], []),
        ([("input", A), ("input", C), ("input", ACROSS)], [("output", B)], [0]),
        ([], [("output", A), ("output", A)], [1]),
        # State may stay in its memory, and two states may swap their memory.
        ([("state", A), ("state", B)], [("state", B), ("state", A)], []),
        ([("state", A)], [("state", B), ("state", B)], [1]),
        ([("state", A)], [("output", A), ("state", B)], [0]),
        ([("state", A)], [("output", A), ("state", A)], [0]),
        ([("input", A), ("state", B)], [("state", A)], [0]),
        # Values without CPU memory.
        ([("input", A[:0]), ("input", 3)], [("output", A[:0]), ("output", 3), ("state", None)], []),
    ],
)
def test_shared(arguments, results, late):
    assert shared(arguments, results) == late
