"""The decomposition of fused attention returns the same strides as the operator."""

import pytest
import torch
import torch.nn.functional as F

import unmess
from importers import decompositions


def join_heads(query, cache, length):
    """Joins attention heads like GPT-2: no copy is needed to view the kernel's result as rows.

    The size that depends on data makes PyTorch trace the program again.
    """
    first, query = length.item(), query.transpose(1, 2)
    torch._check(first >= 0)
    torch._check(first + query.shape[2] <= cache.shape[2])
    cache = cache.slice_scatter(query, 2, first, first + query.shape[2])
    joined = F.scaled_dot_product_attention(query, cache, cache).transpose(1, 2).contiguous()
    return joined.reshape(*joined.shape[:-2], -1).view(-1, 8), query.flatten().nonzero()


def captured():
    tokens = torch.export.Dim("tokens", min=2, max=9)
    args = torch.randn(2, 5, 2, 4), torch.randn(2, 2, 9, 4), torch.tensor(3)
    return unmess.capture(join_heads, args, dynamic_shapes=({1: tokens}, None, None))


def test_rows_of_a_batch_with_dynamic_length():
    program = captured()
    assert any("fused attention" in note.text for note in program.notes)
    report = unmess.check(program, on="reference", calls=1)
    assert report.ok, report.error


def test_capture_fails_without_the_decomposition(monkeypatch):
    others = [d for d in decompositions.DECOMPOSITIONS if d.name != "fused attention"]
    monkeypatch.setattr(decompositions, "DECOMPOSITIONS", tuple(others))
    with pytest.raises(unmess.Error, match=r"cannot decompose the exported program: .*view"):
        captured()


def test_batch_size_that_depends_on_data():
    """Idefics 3 drops images that are all zeros in this way."""

    def of_images(x, present):
        x = x[present]
        return F.scaled_dot_product_attention(x, x, x).transpose(1, 2).flatten(2)

    images = torch.randn(3, 2, 5, 4)
    program = unmess.capture(of_images, (images, torch.tensor([True, False, True])))
    run = unmess.load(program, on="reference")
    for present in ([True, False, True], [False, False, True]):
        mask = torch.tensor(present)
        torch.testing.assert_close(run(images, mask), of_images(images, mask))
