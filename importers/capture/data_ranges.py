"""Captures ranges between positions that depend on data: `torch.arange(length, length + 4)`.

Eager reads both bounds as Python integers if `length` is a 0-d tensor. A tracer has two unknown
numbers for them, so it does not know that the range has four elements.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

ADDITIONS = frozenset({torch.add, torch.Tensor.add, torch.Tensor.__radd__})
# The arguments of a range that is rewritten. Another step or `out` is not supported.
_SUPPORTED = {"start", "end", "dtype", "device"}


class DataRanges:
    """Records sums of a 0-d integer tensor and a number, and computes ranges that end at a sum."""

    def __init__(self) -> None:
        # By the id of a sum: the sum, the 0-d tensor, the number, and the versions of the tensors.
        # The references keep the ids from being reused.
        self._sums: dict[int, tuple[torch.Tensor, torch.Tensor, Any, tuple[int, int]]] = {}

    def remember(self, result: Any, one: Any, other: Any) -> None:
        """Called for each sum, the result of one of `ADDITIONS`."""
        tensor, number = (one, other) if isinstance(one, torch.Tensor) else (other, one)
        if _is_position(tensor) and _is_integer(number):
            versions = result._version, tensor._version
            self._sums[id(result)] = result, tensor, number, versions

    def arange(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> torch.Tensor | None:
        """Returns the result of `torch.arange` from a 0-d tensor to its sum with a number.

        Returns None for all other arguments.
        """
        given = dict(zip(("start", "end"), args, strict=False)) | kwargs
        if len(args) > 2 or not given.keys() <= _SUPPORTED:
            return None
        count = self._distance(given)
        if count is None:
            return None
        numbers = torch.arange(count, device=given.get("device")) + given["start"]
        return numbers.to(given.get("dtype") or torch.int64)

    def _distance(self, given: dict[str, Any]) -> Any:
        """Returns the number of elements of a range, if its end is its start plus that number."""
        start, end = given.get("start"), given.get("end")
        if not _is_position(start) or id(end) not in self._sums:
            return None
        total, tensor, number, versions = self._sums[id(end)]
        is_unchanged = versions == (total._version, start._version)
        fits = tensor is start and is_unchanged and statically_known_true(number >= 0)
        return number if fits else None


def _is_position(value: Any) -> bool:
    return (
        isinstance(value, torch.Tensor)
        and not value.dim()
        and value.dtype in (torch.int32, torch.int64)
    )


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool)
