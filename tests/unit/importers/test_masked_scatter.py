"""Compares the decomposition of `masked_scatter` with PyTorch's operator."""

import pytest
import torch

import unmess
from importers.decompositions.scatter import masked_scatter

MASK = torch.tensor([[True, False, True], [False, True, True]])


@pytest.mark.parametrize(
    "x, mask, source",
    [
        (torch.randn(2, 3), MASK, torch.randn(4)),
        (torch.randn(2, 3, 5), MASK[..., None], torch.randn(4, 5)),
        (torch.randn(2, 3, 5), MASK[..., None].expand(2, 3, 5), torch.randn(1, 4, 5)),
        (torch.randn(2, 3, 5), MASK[..., None], torch.randn(23)),
        (torch.randn(3), MASK, torch.randn(7)),
        (torch.randn(2, 3), torch.tensor(True), torch.randn(6)),
        (torch.randn(2, 0), torch.tensor([True]), torch.randn(3)),
        (torch.randn(2, 3), MASK & False, torch.randn(0)),
        (torch.arange(6).reshape(2, 3), MASK, torch.arange(10, 14)),
    ],
)
def test_as_pytorch(x, mask, source):
    expected = torch.ops.aten.masked_scatter.default(x, mask, source)
    torch.testing.assert_close(masked_scatter(x, mask, source), expected)


def test_features_are_written_into_text_embeddings():
    def place(text, mask, features):
        return text.masked_scatter(mask, features)

    args = (torch.randn(2, 3, 5), MASK[..., None], torch.randn(4, 5))
    program = unmess.capture(place, args)
    assert "masked scatter (aten::masked_scatter.default)" in str(program.notes)
    assert unmess.check(program, on="reference", calls=1).ok
