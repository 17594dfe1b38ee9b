"""Formats numbers for people."""

from __future__ import annotations


def duration(seconds: float | None) -> str:
    """Returns a duration with its unit, such as `12.3 ms`; empty for None."""
    if seconds is None:
        return ""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    if seconds < 1:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds:.1f} s"


def difference(number: float | None) -> str:
    """Returns the error of a result with two digits; empty for None."""
    return "" if number is None else f"{number:.1e}" if number else "0"


def time_left(seconds: float) -> str:
    """Returns a long duration with one unit, such as `12 min`."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
