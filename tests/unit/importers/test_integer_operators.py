"""Operators of integer programs, compared with a model of the arithmetic in Python and NumPy."""

import math
from fractions import Fraction

import numpy
import pytest
import torch

from importers import integer_operators as operators


def scaled(value: int, multiplier: int, shift: int) -> int:
    """Returns `value * multiplier / 2**shift`, rounded half up, in exact arithmetic."""
    return math.floor(Fraction(value * multiplier, 2**shift) + Fraction(1, 2))


@pytest.mark.parametrize("scale", [1.0, 0.5, 1 / 3, 2**-20, 3e-7, 12345.678, 2.0**28.9])
def test_fixed_point_numbers_are_close(scale):
    multiplier, shift = operators.fixed_point(scale)
    assert 2**30 <= multiplier < 2**31 and 2 <= shift <= 62
    assert abs(multiplier / 2**shift - scale) <= scale * 2**-31


def test_the_smallest_scales_lose_bits():
    multiplier, shift = operators.fixed_point(2.0**-40)
    assert shift == 62 and multiplier / 2**shift == 2.0**-40


@pytest.mark.parametrize("scale", [0.0, -1.0, 2.0**29, math.inf, math.nan])
def test_scales_that_do_not_fit_are_errors(scale):
    with pytest.raises(OverflowError):
        operators.fixed_point(scale)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32])
def test_rescale_rounds_half_up_and_clamps(dtype):
    values = [-(2**31), -(2**20) - 1, -385, -3, -1, 0, 1, 2, 3, 254, 2**20 + 1, 2**31 - 1]
    pairs = [operators.fixed_point(scale) for scale in (0.5, 0.003, 0.24999)]
    x = torch.tensor([values] * len(pairs), dtype=torch.int32)
    multiplier = torch.tensor([pair[0] for pair in pairs], dtype=torch.int32)
    shift = torch.tensor([pair[1] for pair in pairs], dtype=torch.int8)
    found = operators.rescale(x, multiplier, shift, 0, [0, 7], dtype)
    bounds = torch.iinfo(dtype)
    for row, (factor, bits) in zip(found.tolist(), pairs, strict=True):
        expected = [scaled(value, factor, bits) + 7 for value in values]
        assert row == [max(bounds.min, min(bounds.max, each)) for each in expected]


def test_sums_of_products_are_those_of_numpy():
    generator = numpy.random.default_rng(0)
    x = generator.integers(-128, 128, (2, 4, 7, 6), dtype=numpy.int8)
    weight = generator.integers(-128, 128, (6, 2, 3, 2), dtype=numpy.int8)
    bias = generator.integers(-(2**20), 2**20, 6, dtype=numpy.int32)
    wide = numpy.pad(x.astype(numpy.int64) - 3, ((0, 0), (0, 0), (1, 1), (2, 2)))
    expected = numpy.zeros((2, 6, 4, 8), numpy.int64)
    for row in range(4):
        for column in range(8):
            window = wide[:, :, 2 * row : 2 * row + 3, column : column + 3 : 2]
            for filter_ in range(6):
                channels = window[:, 2 * (filter_ // 3) :][:, :2]
                products = channels * (weight[filter_].astype(numpy.int64) + 5)
                expected[:, filter_, row, column] = products.sum((1, 2, 3)) + bias[filter_]
    found = operators.convolution(
        *map(torch.from_numpy, (x, weight, bias)), [3, -5], [2, 1], [1, 2], [1, 2], 2
    )
    assert numpy.array_equal(found.numpy(), expected)
    a, b = x.reshape(2, 14, 12), weight.reshape(2, 12, 3)
    product = (a.astype(numpy.int64) - 1) @ (b.astype(numpy.int64) - 2)
    found = operators.matmul(torch.from_numpy(a), torch.from_numpy(b), None, [1, 2])
    assert numpy.array_equal(found.numpy(), product)


def test_shapes_without_data_are_those_of_the_results():
    x = torch.zeros(2, 4, 9, 8, dtype=torch.int8)
    weight = torch.zeros(6, 2, 3, 2, dtype=torch.int8)
    ones = torch.ones(6, dtype=torch.int32)
    calls = [
        (operators.convolution, x, weight, None, [0, 0], [2, 1], [1, 0], [1, 3], 2),
        (operators.max_pool, x, [3, 2], [2, 2], [1, 1], [2, 1]),
        (operators.matmul, x[0, 0], x[0, 1].T, None, [0, 0]),
        (operators.rescale, x, ones[:4], ones[:4].to(torch.int8), 1, [0, 0], torch.uint8),
        (operators.table, x, torch.zeros(256, dtype=torch.uint8)),
    ]
    for operator, *args in calls:
        meta = [each.to("meta") if isinstance(each, torch.Tensor) else each for each in args]
        found, expected = operator(*meta), operator(*args)
        assert found.shape == expected.shape and found.dtype == expected.dtype
