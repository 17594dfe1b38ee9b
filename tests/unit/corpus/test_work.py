import pytest
import torch

import unmess
from unmess.core.errors.error import Error
from unmess.corpus import work


def test_ir_that_is_too_long_for_a_table_is_a_failure_of_its_stage(monkeypatch):
    program = unmess.capture(torch.nn.ReLU(), (torch.ones(2),))
    text = work._lowered(program, "torch")["text"]
    monkeypatch.setattr(work, "_LONGEST_TEXT", len(text) - 1)
    with pytest.raises(Error, match=f"torch: the IR has {len(text)} characters"):
        work._lowered(program, "torch")
