"""Tests that operators read and write the signs of NaN, zeros and other numbers like eager."""

import math

import pytest
import torch

import unmess

DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
BITS = {2: torch.int16, 4: torch.int32, 8: torch.int64}
VALUES = (math.nan, -math.nan, 0.0, -0.0, 1.5, -2.5, math.inf, -math.inf)


def signs(*numbers):
    """Returns results that show the sign bits, which comparisons of numbers ignore."""
    results = []
    for x in numbers:
        found = (
            torch.copysign(x, x.flip(0)),
            torch.copysign(x, torch.ones(()).neg()),
            torch.copysign(x, -0.0),
            x.abs(),
            -x,
            torch.cat([x, x.flip(0)]),
        )
        results += [torch.signbit(x), x.view(BITS[x.itemsize])]
        results += [torch.signbit(y) for y in found]
        results += [x.pow(0.5), x.pow(-0.5)]
        results += [torch.sign(x), torch.sgn(x), torch.atan2(x.float(), x.float().flip(0))]
    return results


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_as_in_eager(runner):
    # A conversion to bf16 loses the sign of NaN, so `copysign` restores it.
    sign = torch.tensor([math.copysign(1, value) for value in VALUES])
    numbers = [torch.tensor(VALUES, dtype=dtype).copysign(sign.to(dtype)) for dtype in DTYPES]
    assert [bool(x.signbit()[1]) for x in numbers] == [True] * len(numbers)
    results = unmess.load(unmess.capture(signs, tuple(numbers)), on=runner)(*numbers)
    for ours, theirs in zip(results, signs(*numbers), strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
        if ours.is_floating_point():
            zeros = theirs == 0
            assert torch.equal(ours[zeros].signbit(), theirs[zeros].signbit())
