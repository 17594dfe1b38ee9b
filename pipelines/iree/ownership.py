"""Which results of a call lie in memory that is somebody else's."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import torch


def shared(arguments: Sequence[tuple[str, Any]], results: Sequence[tuple[str, Any]]) -> list[int]:
    """The indices of the results that must be copied to be the caller's, or the state's, own.

    A program that returns an argument, or one value twice, returns the same memory. State may stay
    in the memory that it was in; an output may be in none that the state, an argument or another
    output is in.

    Args:
        arguments, results: each with its kind, `input`, `output` or `state`; what is no tensor in
            the CPU's memory is passed over.
    """
    taken = _Memory()
    late = []
    # In order of who keeps the memory.
    for kind, values in (
        ("input", arguments),
        ("state", results),
        ("state", arguments),
        ("output", results),
    ):
        for index, (its_kind, value) in enumerate(values):
            if its_kind == kind and isinstance(value, torch.Tensor) and value.numel():
                start = value.data_ptr()
                is_free = taken.take(start, start + value.nbytes)
                if values is results and not is_free:
                    late.append(index)
    return late


class _Memory:
    """Disjoint ranges of addresses, in order."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []

    def take(self, start: int, end: int) -> bool:
        """Adds a range; returns whether it was free."""
        first = bisect_right(self._ends, start)
        last = bisect_left(self._starts, end)
        if first == last:
            self._starts.insert(first, start)
            self._ends.insert(first, end)
            return True
        self._starts[first:last] = [min(start, self._starts[first])]
        self._ends[first:last] = [max(end, self._ends[last - 1])]
        return False
