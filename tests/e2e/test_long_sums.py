"""Tests the rounding errors of long sums. The errors of equal terms do not cancel."""

import pytest
import torch

import unmess

# The number of rows is prime, so the last block is never full.
ROWS, COLUMNS, IMAGE = 100_003, 3, (2, 2, 120, 120)


class Sums(torch.nn.Module):
    def forward(self, x, image):
        return (
            x.sum(),
            x.sum(0),
            (x * x).mean(),
            x.norm(),
            x[:, 0].exp().sum(0, keepdim=True),
            image.mean((2, 3), keepdim=True),
            image.sum((0, 2, 3)),
            image.to(torch.bfloat16).sum().float(),
        )


@pytest.fixture(scope="module", params=["reference", "iree-cpu"])
def sums(request):
    example = torch.rand(ROWS, COLUMNS), torch.rand(IMAGE)
    return unmess.load(unmess.capture(Sums(), example), on=request.param)


@pytest.mark.parametrize("values", ["equal", "random"])
def test_rounding_error(sums, values):
    generator = torch.Generator().manual_seed(0)
    x, image = (
        torch.full(shape, 0.1) if values == "equal" else torch.rand(shape, generator=generator)
        for shape in ((ROWS, COLUMNS), IMAGE)
    )
    *exact, _ = Sums()(x.double(), image.double())
    *ours, rounded = sums(x, image)
    for result, expected in zip(ours, exact, strict=True):
        torch.testing.assert_close(result.double(), expected, rtol=1e-5, atol=0)
    # The sum in f32 of numbers in bf16 is rounded once.
    torch.testing.assert_close(rounded, Sums()(x, image)[-1], rtol=2**-8, atol=0)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_cumulative_sums_and_products(runner):
    def cumulative(x, factors):
        return x.cumsum(0), factors.cumprod(0), x.to(torch.float16).cumsum(0)

    x = torch.rand(ROWS)
    args = x, 1 + x * 1e-5
    results = unmess.load(unmess.capture(cumulative, args), on=runner)(*args)
    for result, expected in zip(results, cumulative(*args), strict=True):
        torch.testing.assert_close(result, expected, rtol=torch.finfo(result.dtype).eps, atol=0)
