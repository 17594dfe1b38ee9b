"""Hints with names that are similar to a wrong one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, names: Iterable[str], count: int = 3) -> list[str]:
    """Returns up to `count` of `names` similar to `name`, the nearest first. Ignores case."""
    by_lower: dict[str, list[str]] = {}
    for candidate in names:
        by_lower.setdefault(candidate.lower(), []).append(candidate)
    found = difflib.get_close_matches(name.lower(), by_lower, n=count, cutoff=0.6)
    return [candidate for match in found for candidate in by_lower[match]][:count]


def did_you_mean(name: str, names: Iterable[str], otherwise: str | None = None) -> str | None:
    """Returns `did you mean A, B or C?`, or `otherwise` if no name is similar."""
    found = nearest(name, names)
    if not found:
        return otherwise
    *first, last = found
    return f"did you mean {', '.join(first)} or {last}?" if first else f"did you mean {last}?"
