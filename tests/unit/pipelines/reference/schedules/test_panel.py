import pytest

from pipelines.reference.schedules.panel import pitch, written


@pytest.mark.parametrize("item", [1, 4, 8])
@pytest.mark.parametrize("lines", [3, 4, 14, 16, 49, 64])
def test_the_same_columns_of_all_rows_are_in_different_sets_of_the_cache(lines, item):
    found = pitch(lines * 64 // item, item) * item // 64
    assert found in (lines, lines + 1)
    assert {row * found % 64 for row in range(64)} == set(range(64))


@pytest.mark.parametrize(
    ("count", "expected"), [(1, 1), (5, 8), (7, 8), (16, 16), (56, 56), (49, 49)]
)
def test_a_copy_ends_with_a_power_of_two(count, expected):
    assert written(count, 16) == expected
