"""Compares the CPU kernels of torchvision's operators with reference implementations."""

import importlib
import itertools
import math

import pytest
import torch
import torchvision
from torch.nn import functional

pytestmark = pytest.mark.skipif(
    torchvision.extension._has_ops(), reason="torchvision's own extension loads"
)


def boxes(count, width=20.0, height=16.0, seed=0):
    """Returns random boxes within an image: corners `[count, 4]`."""
    generator = torch.Generator().manual_seed(seed)
    ends = torch.rand(count, 2, 2, generator=generator).sort(dim=1).values
    return (ends * torch.tensor([width, height])).reshape(count, 4)


def overlap(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


# The kernel compares 64 boxes with all others at once.
@pytest.mark.parametrize("threshold, count", [(0.0, 60), (0.3, 60), (0.7, 60), (0.7, 130)])
def test_nms_drops_boxes_that_overlap_a_better_kept_box(threshold, count):
    candidates, scores = boxes(count), torch.rand(count, generator=torch.Generator().manual_seed(1))
    kept = torchvision.ops.nms(candidates, scores, threshold).tolist()
    expected = []
    for index in scores.argsort(descending=True).tolist():
        box = candidates[index].tolist()
        if all(overlap(box, candidates[other].tolist()) <= threshold for other in expected):
            expected.append(index)
    assert kept == expected
    assert 1 < len(kept) < count


def test_nms_of_no_boxes():
    assert torchvision.ops.nms(torch.zeros(0, 4), torch.zeros(0), 0.5).tolist() == []


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("sampling_ratio", [-1, 1, 2])
def test_roi_align_matches_torchvisions_python_version(sampling_ratio, aligned):
    feature = torch.randn(2, 3, 16, 20, generator=torch.Generator().manual_seed(0))
    rois = torch.cat([torch.tensor([0.0, 1, 1, 0, 1])[:, None], boxes(5) * 2], 1)
    result = torchvision.ops.roi_align(feature, rois, (3, 2), 0.5, sampling_ratio, aligned)
    module = importlib.import_module("torchvision.ops.roi_align")
    expected = module._roi_align.__wrapped__(feature, rois, 0.5, 3, 2, sampling_ratio, aligned)
    torch.testing.assert_close(result, expected)


def test_roi_align_takes_pixels_beyond_the_image_as_zero():
    """torchvision's Python version repeats the edge pixels. The extension does not."""
    feature = torch.ones(1, 1, 4, 4)
    result = torchvision.ops.roi_align(feature, torch.tensor([[0.0, 0, 0, 8, 8]]), 2, 1.0, 2)
    assert result.flatten().tolist() == [1, 0, 0, 0]


def test_deform_conv2d_without_offsets_is_a_convolution():
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(2, 4, 9, 8, generator=generator)
    weight = torch.randn(6, 2, 3, 2, generator=generator)
    bias = torch.randn(6, generator=generator)
    options = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2)}
    expected = functional.conv2d(image, weight, bias, groups=2, **options)
    offset = torch.zeros(2, 2 * 6, *expected.shape[2:])
    result = torchvision.ops.deform_conv2d(image, offset, weight, bias, **options)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=1e-5)


def bilinear(image, y, x):
    """Returns the bilinear interpolation of four pixels. Pixels beyond the edge are 0."""
    total = 0.0
    for row in (math.floor(y), math.floor(y) + 1):
        for column in (math.floor(x), math.floor(x) + 1):
            if 0 <= row < image.shape[0] and 0 <= column < image.shape[1]:
                total += image[row, column].item() * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def test_deform_conv2d_samples_where_its_offsets_say():
    generator = torch.Generator().manual_seed(0)
    image = torch.randn(1, 4, 5, 6, generator=generator)
    weight = torch.randn(1, 4, 2, 2, generator=generator)
    offset = 3 * torch.randn(1, 2 * 2 * 4, 4, 5, generator=generator)
    mask = torch.rand(1, 2 * 4, 4, 5, generator=generator)
    result = torchvision.ops.deform_conv2d(image, offset, weight, mask=mask)
    for top, left in ((0, 0), (1, 3), (3, 4)):
        expected = 0.0
        for channel, row, column in itertools.product(range(4), range(2), range(2)):
            tap = (channel // 2) * 4 + row * 2 + column
            down, right = offset[0, 2 * tap : 2 * tap + 2, top, left].tolist()
            value = bilinear(image[0, channel], top + row + down, left + column + right)
            weight_of_tap = weight[0, channel, row, column] * mask[0, tap, top, left]
            expected += value * weight_of_tap.item()
        assert result[0, 0, top, left].item() == pytest.approx(expected, abs=1e-5)


def test_a_gradient_is_refused():
    feature = torch.randn(1, 1, 4, 4, requires_grad=True)
    pooled = torchvision.ops.roi_align(feature, torch.tensor([[0.0, 0, 0, 3, 3]]), 2)
    with pytest.raises(NotImplementedError, match="has no gradient"):
        pooled.sum().backward()
