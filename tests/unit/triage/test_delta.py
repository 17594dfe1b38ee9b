"""Delta debugging finds the few items that matter, with few questions."""

import pytest

from unmess.triage.delta import shortest_range, smallest


def counting(needed):
    asked = []

    def holds(items):
        asked.append(list(items))
        return needed <= set(items)

    return holds, asked


@pytest.mark.parametrize("needed", [{0}, {999}, {500}, {500, 503}, {0, 999}])
def test_a_range_is_found_by_bisection(needed):
    holds, asked = counting(needed)
    assert shortest_range(range(1000), holds) == list(range(min(needed), max(needed) + 1))
    assert len(asked) <= 20


@pytest.mark.parametrize("needed", [{0}, {63}, {3, 40}, {0, 31, 63}, set(range(8))])
def test_no_item_can_be_removed_from_the_smallest_list(needed):
    holds, asked = counting(needed)
    assert smallest(range(64), holds) == sorted(needed)
    assert [] not in asked


def test_one_item_is_not_asked_about():
    holds, asked = counting({1})
    assert shortest_range([1], holds) == smallest([1], holds) == [1]
    assert asked == []
