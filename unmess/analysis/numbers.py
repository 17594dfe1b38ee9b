"""Formats numbers for people: integers with a decimal prefix, expressions in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.analysis.sizes import Size

_DECIMAL = ("", "k", "M", "G", "T", "P", "E")
# The value assumed for an unknown size when numbers are sorted.
_TYPICAL = 1024


def count(number: Size | None, unit: str = "") -> str:
    """Returns three digits and a decimal prefix: `3.64 G`; empty for None and for 0."""
    if number is None or number == 0:
        return ""
    if not isinstance(number, (int, float)):
        text = str(number).replace("**", "^").replace("*", "·")
        return f"{text} {unit}".strip()
    scaled, prefix = float(number), 0
    while abs(scaled) >= 999.5 and prefix + 1 < len(_DECIMAL):
        scaled /= 1000
        prefix += 1
    digits = f"{scaled:.3g}" if scaled < 1000 else f"{scaled:.0f}"
    return f"{digits} {_DECIMAL[prefix]}{unit}".strip()


def size(number: Size | None) -> str:
    """Returns bytes with a decimal prefix: `46.8 MB`."""
    return count(number, "B")


def ratio(number: float | None) -> str:
    """Returns three digits; empty for None and for 0."""
    return f"{number:.3g}" if number else ""


def percent(part: Size, whole: Size) -> str:
    """Returns the share of the whole; empty if sizes are unknown or the part is 0."""
    if not isinstance(part, int) or not isinstance(whole, int) or not part:
        return ""
    share = 100 * part / whole
    return f"{share:.1f} %" if share >= 0.05 else "<0.1 %"


def rank(number: Size) -> float:
    """Returns a sort key: the number, with `_TYPICAL` for every unknown size."""
    if isinstance(number, int):
        return float(number)
    return float(number.subs(dict.fromkeys(number.free_symbols, _TYPICAL)))
