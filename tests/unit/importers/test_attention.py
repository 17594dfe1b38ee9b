"""The decomposition of fused attention has the operator's strides."""

import pytest
import torch
import torch.nn.functional as F

import unmess
from importers import decompositions


def join_heads(query, cache):
    """As GPT-2 does: the kernel's result needs no copy to be viewed as rows."""
    result = F.scaled_dot_product_attention(query.transpose(1, 2), cache, cache)
    joined = result.transpose(1, 2).contiguous()
    return joined.reshape(*joined.shape[:-2], -1).view(-1, 8)


def captured():
    length = torch.export.Dim("length", min=2, max=64)
    args = torch.randn(2, 5, 2, 4), torch.randn(2, 2, 6, 4)
    return unmess.capture(join_heads, args, dynamic_shapes=({1: length}, None))


def test_rows_of_a_batch_with_a_dynamic_length():
    program = captured()
    assert any("fused attention" in note.text for note in program.notes)
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def test_fails_without_it(monkeypatch):
    others = [d for d in decompositions.DECOMPOSITIONS if d.name != "fused attention"]
    monkeypatch.setattr(decompositions, "DECOMPOSITIONS", tuple(others))
    with pytest.raises(unmess.Error, match=r"does not decompose: .*view"):
        captured()
