"""Tests of depthwise convolutions, pooling and outer sums as vector code, compared with eager.

Each program is captured once, for all kinds of processors.
"""

import functools

import pytest
import torch
from torch import nn

import unmess


class Windows(nn.Module):
    """All kinds of windows in one module, so that a single compilation is enough."""

    def __init__(self, channels: int):
        super().__init__()
        self.kinds = nn.ModuleList(
            [
                nn.Conv2d(channels, channels, 3, padding=1, groups=channels),
                nn.Conv2d(channels, channels, 5, padding=2, stride=2, groups=channels),
                nn.Conv2d(channels, channels, 3, padding=2, dilation=2, groups=channels),
                nn.Conv2d(channels, channels, 3, padding=1, stride=3, groups=channels),
                nn.MaxPool2d(3, 2, 1),
                nn.MaxPool2d(3, 1, 1, dilation=1),
                nn.AvgPool2d(2, ceil_mode=True),
                nn.AvgPool2d(3, 1, 1, count_include_pad=False),
            ]
        )

    def forward(self, images):
        return [[kind(image) for kind in self.kinds] for image in images]


@functools.cache
def windows():
    torch.manual_seed(0)
    model = Windows(3).eval()
    images = [torch.randn(2, 3, width - 1, width) for width in (4, 7, 8, 9, 16, 17, 33, 56)]
    return model, images, unmess.capture(model, (images,))


def test_columns_around_tile_boundaries(always_vectors):
    model, images, program = windows()
    run = unmess.load(program, on="reference")
    with torch.no_grad():
        torch.testing.assert_close(run(images), model(images), rtol=1e-5, atol=1e-5)


class Sums(nn.Module):
    def forward(self, x):
        return x.sum(0), x.sum(1), x.mean((0, 1)), x.amax(1), x.prod(0), x.sum((0, 1), keepdim=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_outer_dimensions(dtype, always_vectors):
    torch.manual_seed(0)
    x = torch.randn(5, 6, 37, dtype=dtype)
    x[2, 3, 4] = torch.nan
    run = unmess.load(unmess.capture(Sums(), (x,)), on="reference")
    torch.testing.assert_close(run(x), Sums()(x), equal_nan=True)


def test_reductions_with_further_operands(always_vectors):
    """Reductions that also have a number or an assertion stay loops.

    Examples are a variance and adaptive pooling.
    """
    x = torch.randn(2, 5, 7, dtype=torch.float64)

    def function(x):
        pooled = nn.functional.adaptive_avg_pool2d(x.unsqueeze(1), (2, 4))
        return torch.var(x, 1, correction=0), (x / 5).sum(1), (x * 3).amax(1), pooled

    run = unmess.load(unmess.capture(function, (x,)), on="reference")
    torch.testing.assert_close(run(x), function(x))
