"""Accuracy in ULPs of exp, erf, tanh, expm1, log1p and powers."""

import math

import pytest
import torch
from torch import nn

import unmess

SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1e-45, -1e-40, 3.4e38, -3.4e38]
# Just below and above the arguments at which exp overflows, becomes subnormal, and becomes 0.
BOUNDS = [88.72, 88.73, -87.3, -87.4, -103.9, -104.1]


class Functions(nn.Module):
    def forward(self, x):
        return torch.exp(x), torch.erf(x), torch.tanh(x)


class NextToZero(nn.Module):
    def forward(self, x):
        return torch.expm1(x), torch.log1p(x.abs())


class Powers(nn.Module):
    EXPONENTS = (0.5, 2.0, 3.0, -0.5, -1.0, -2.0, 2.5)

    def forward(self, x):
        powers = [torch.pow(x, exponent) for exponent in self.EXPONENTS]
        return [*powers, 10000.0 ** (x / 100), torch.pow(x.abs(), x)]


def ulps(result: torch.Tensor, exact: torch.Tensor) -> torch.Tensor:
    """Returns distances from float64 values in units in the last place of the nearest float32."""
    nearest = exact.float().abs()
    unit = torch.nextafter(nearest, torch.tensor(math.inf)).double() - nearest.double()
    return (result.double() - exact).abs() / unit


@pytest.fixture(scope="module")
def numbers() -> torch.Tensor:
    return torch.cat(
        [
            torch.linspace(-105, 89, 200_001),
            torch.linspace(-5, 5, 200_001),
            torch.randn(50_000, generator=torch.Generator().manual_seed(0)) * 1e-3,
            torch.tensor(SPECIAL + BOUNDS),
        ]
    )


def test_errors_are_below_a_unit_and_a_half(numbers):
    run = unmess.load(unmess.capture(Functions(), (numbers,)), on="reference")
    exact = Functions()(numbers.double())
    for result, eager, reference in zip(run(numbers), Functions()(numbers), exact, strict=True):
        assert torch.equal(result.isnan(), eager.isnan())
        assert torch.equal(result.isinf(), eager.isinf())
        assert torch.equal(result.nan_to_num().signbit(), eager.nan_to_num().signbit())
        finite = reference.float().isfinite()
        assert ulps(result, reference)[finite].max() < 1.5


def test_next_to_zero(numbers):
    """Computed directly, e^x - 1 and log(1 + x) would have no correct digit near zero."""
    x = torch.cat([numbers, torch.logspace(-20, -1, 2000), -torch.logspace(-20, -1, 2000)])
    exact = NextToZero()(x.double())
    run = unmess.load(unmess.capture(NextToZero(), (x,)), on="reference")
    for result, eager, reference in zip(run(x), NextToZero()(x), exact, strict=True):
        assert torch.equal(result.isnan(), eager.isnan())
        assert torch.equal(result.nan_to_num().signbit(), eager.nan_to_num().signbit())
        finite = reference.float().isfinite()
        assert ulps(result, reference)[finite].max() < 4
    run = unmess.load(unmess.capture(NextToZero(), (x.double(),)), on="reference")
    for result, reference in zip(run(x.double()), exact, strict=True):
        torch.testing.assert_close(result, reference, rtol=1e-15, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_narrow_types_are_rounded_once(dtype):
    x = torch.linspace(-8, 8, 1001).to(dtype)
    run = unmess.load(unmess.capture(Functions(), (x,)), on="reference")
    exact = [result.to(dtype) for result in Functions()(x.double())]
    for result, reference in zip(run(x), exact, strict=True):
        # One float32 result in some thousands lies on the other side of a rounding boundary.
        assert (result != reference).double().mean() < 0.01
        torch.testing.assert_close(result, reference)


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_powers_match_eager(runner):
    x = torch.cat([torch.linspace(-3, 3, 1001), torch.linspace(3, 90, 500), torch.tensor(SPECIAL)])
    if runner == "iree-cpu":
        # IREE treats subnormal numbers as zeros.
        x = x[(x == 0) | ~(x.abs() < torch.finfo(x.dtype).tiny)]
    run = unmess.load(unmess.capture(Powers(), (x,)), on=runner)
    for result, eager in zip(run(x), Powers()(x), strict=True):
        least = 1e-37 if runner == "iree-cpu" else 0
        torch.testing.assert_close(result, eager, rtol=3e-7, atol=least, equal_nan=True)
