"""Compares resizing with antialiasing with PyTorch's kernel."""

import pytest
import torch

from importers.decompositions.resizing import resize


@pytest.mark.parametrize("kernel", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(3, 4), (5, 9), (16, 16), (13, 24)])
def test_as_pytorch(kernel, size):
    x = torch.randn(2, 3, 10, 12, dtype=torch.float64)
    operator = getattr(torch.ops.aten, f"_upsample_{kernel}2d_aa").default
    expected = operator(x, size, False)
    torch.testing.assert_close(resize(operator, x, size, False), expected)


def test_resize_uses_the_given_scales():
    x = torch.randn(1, 1, 8, 8, dtype=torch.float64)
    operator = torch.ops.aten._upsample_bilinear2d_aa.default
    expected = operator(x, (3, 3), False, 0.45, 0.45)
    actual = resize(operator, x, (3, 3), False, 0.45, 0.45)
    torch.testing.assert_close(actual, expected)


@pytest.mark.parametrize("size", [(3, 4), (7, 15)])
def test_aligned_corners(size):
    x = torch.randn(2, 3, 10, 12, dtype=torch.float64)
    operator = torch.ops.aten._upsample_bilinear2d_aa.default
    expected = operator(x, size, True)
    torch.testing.assert_close(resize(operator, x, size, True), expected)
