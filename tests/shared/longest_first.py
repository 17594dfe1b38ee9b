"""Moves the files of tests that take longest to the front, for `pytest --dist loadfile`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest


def longest_first(items: list[pytest.Item], names: Sequence[str]) -> None:
    """Sorts collected tests in place, so that all processes end at about the same time.

    Args:
        names: the names of the files that take longest, in this order. The other files come last.
    """
    places = {name: place for place, name in enumerate(names)}
    items.sort(key=lambda item: places.get(Path(item.path).name, len(places)))
