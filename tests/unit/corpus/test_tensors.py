"""Weights and inputs from a seed: the same numbers everywhere."""

import numpy as np
import pytest

from unmess.corpus import tensors

NORMAL = {"kind": "normal", "mean": 1.0, "std": 0.5, "min": 0.0, "max": 9.0}


def test_numbers_are_those_of_the_documentation():
    """The raw integers of PCG64 are part of NumPy's interface. These were computed by hand."""
    seed = tensors.seed_of(0, "hf:bert", "pooler.dense.bias")
    assert seed == 5293912740370460785
    raw = np.random.PCG64(seed).random_raw(3)
    sums = [sum(int(each) >> shift & 0xFFFF for shift in (0, 16, 32, 48)) for each in raw]
    deviation = ((65536**2 - 1) / 3) ** 0.5
    expected = [max(0.0, 1 + 0.5 * (each - 131070) / deviation) for each in sums]
    made = tensors.make(NORMAL, (3,), "float64", seed)
    np.testing.assert_array_equal(made, expected)
    span = {"kind": "integers", "low": -3, "high": 9}
    expected = [-3 + int(each) % 13 for each in raw]
    assert tensors.make(span, (3, 1), "int32", seed).ravel().tolist() == expected


def test_distribution():
    numbers = tensors.standard_normal(1, 100_000)
    assert abs(numbers.mean()) < 0.01 and abs(numbers.std() - 1) < 0.01
    assert 3 < numbers.max() < 3.5 and 0.66 < np.mean(np.abs(numbers) < 1) < 0.69


@pytest.mark.parametrize(
    "elements",
    [np.array([[1.5, -np.inf], [np.nan, 0]], np.float32), np.zeros((0, 2), np.int8)],
)
def test_recorded_elements(elements):
    data = tensors.compressed(elements)
    again = tensors.make({"kind": "data"}, elements.shape, elements.dtype.name, 0, data)
    np.testing.assert_array_equal(again, elements)


def test_bfloat16_is_rounded_to_even():
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, np.nan, -np.inf], np.float32)
    bits = tensors.rounded(values, "bfloat16")
    np.testing.assert_array_equal(
        tensors.widened(bits), np.array([1, 1, 1 + 2**-6, np.nan, -np.inf], np.float32)
    )


def test_statistics_ignore_nan():
    found = tensors.statistics(np.array([1.0, np.nan, 3.0]), "float64")
    assert [found[key] for key in ("nan", "min", "max", "mean", "std")] == [1, 1, 3, 2, 1]
    assert tensors.statistics(np.empty(0, np.int8), "int8")["min"] is None
