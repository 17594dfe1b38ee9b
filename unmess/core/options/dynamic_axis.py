"""Parses dynamic dimensions that users write, such as `input_ids.1=seq:2..128`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from unmess.core.errors.error import Error

SYNTAX = "INPUT.AXIS[=NAME[:MIN..MAX]]"
_ITEM = re.compile(r"(?P<input>[^=]+)\.(?P<axis>\d+)(?:=(?P<size>.+))?")
_SIZE = re.compile(
    r"(?:(?:(?P<factor>[1-9]\d*)\*)?(?P<name>[A-Za-z_]\w*))?"
    r"(?P<colon>:)?"
    r"(?:(?P<min>\d+)?\.\.(?P<max>\d+)?)?"
)


@dataclass(frozen=True)
class DynamicAxis:
    """A dimension that the user declares dynamic.

    Attributes:
        text: the original text.
        input: a parameter's name or position, followed by keys and positions in containers,
            separated by dots (`x`, `0`, `batch.images.0`); `*` for every tensor that has the axis.
        axis: the dimension, from 0.
        name: name of its size. Dimensions with the same name have equal sizes. None: a size of its
            own.
        factor: the size is this multiple of `name`.
        min, max: the range of `name`, or of the size itself; None if not given.
    """

    text: str
    input: str
    axis: int
    name: str | None = None
    factor: int = 1
    min: int | None = None
    max: int | None = None


def parse_dynamic(texts: Iterable[str]) -> tuple[DynamicAxis, ...]:
    """Parses `--dynamic` options. Each may list several dimensions, separated by commas.

    Raises:
        Error: stage `usage`; the message lists all mistakes.
    """
    axes, wrong = [], []
    for text in (part.strip() for whole in texts for part in whole.split(",")):
        axis = _parse(text)
        if isinstance(axis, str):
            wrong.append(axis)
        else:
            axes.append(axis)
    wrong += _contradictions(axes)
    if wrong:
        raise Error(
            "usage",
            "; ".join(wrong),
            hint=f"write {SYNTAX}, for instance input_ids.1=seq:2..128 or 0.0=batch",
        )
    return tuple(axes)


def _parse(text: str) -> DynamicAxis | str:
    """Returns the dimension, or a description of the mistake in the text."""
    item = _ITEM.fullmatch(text)
    if item is None:
        return f"{text!r} does not name an input and an axis"
    size = _SIZE.fullmatch(item["size"]) if item["size"] else None
    if item["size"] and (
        size is None or bool(size["colon"]) != (".." in text and bool(size["name"]))
    ):
        return f"{item['size']!r} in {text!r} is neither a name nor a range"
    given = size.groupdict() if size else {}
    low, high = (int(given[end]) if given.get(end) else None for end in ("min", "max"))
    if high is not None and high <= (low or 0):
        return f"the maximum of the range in {text!r} must be greater than its minimum"
    return DynamicAxis(
        text,
        item["input"],
        int(item["axis"]),
        given.get("name"),
        int(given.get("factor") or 1),
        low,
        high,
    )


def _contradictions(axes: list[DynamicAxis]) -> list[str]:
    ranges: dict[str, DynamicAxis] = {}
    places: dict[tuple[str, int], DynamicAxis] = {}
    wrong = []
    for axis in axes:
        place = places.setdefault((axis.input, axis.axis), axis)
        if place is not axis:
            wrong.append(f"{place.text!r} and {axis.text!r} are the same dimension")
        if axis.name is None or (axis.min, axis.max) == (None, None):
            continue
        first = ranges.setdefault(axis.name, axis)
        if (first.min, first.max) != (axis.min, axis.max):
            wrong.append(f"{first.text!r} and {axis.text!r} give different ranges for {axis.name}")
    return wrong
