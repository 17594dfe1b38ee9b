"""Finds a small part of a list that still has a property: delta debugging."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")


def shortest_range(items: Sequence[_Item], holds: Callable[[Sequence[_Item]], bool]) -> list[_Item]:
    """Returns a short range of items with the property, by bisection of its end and its start.

    The number of calls grows with the logarithm of the number of items.

    Args:
        holds: whether a list of items has the property; it is assumed to hold for `items`.
    """
    low, high = 0, len(items)
    while high - low > 1:
        middle = (low + high) // 2
        if holds(items[:middle]):
            high = middle
        else:
            low = middle
    end, low, high = high, 0, high
    while high - low > 1:
        middle = (low + high) // 2
        if holds(items[middle:end]):
            low = middle
        else:
            high = middle
    return list(items[low:end])


def smallest(items: Sequence[_Item], holds: Callable[[Sequence[_Item]], bool]) -> list[_Item]:
    """Returns a minimal part of the items: without any single one, the property is lost.

    This is the algorithm ddmin: it removes chunks, first large ones, then smaller ones.

    Args:
        holds: as for `shortest_range`.
    """
    items = list(items)
    size = len(items) // 2
    while size:
        start = 0
        while start < len(items):
            rest = items[:start] + items[start + size :]
            if rest and holds(rest):
                items = rest
            else:
                start += size
        size = min(size, len(items)) // 2
    return items
