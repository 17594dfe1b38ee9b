"""A dynamic dimension."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from unmess.core.signature.size_expression import SizeExpression


@dataclass(frozen=True)
class Dim:
    """A dynamic dimension: an expression over size symbols, and its range (`max` None: open)."""

    expression: str
    min: int
    max: int | None

    def __str__(self) -> str:
        return "?"

    @functools.cached_property
    def parsed(self) -> SizeExpression:
        """The parsed expression."""
        return SizeExpression(self.expression)

    @property
    def range(self) -> str:
        """The range as text: `2 to 128`, `at least 2`."""
        return f"at least {self.min}" if self.max is None else f"{self.min} to {self.max}"

    def holds(self, size: int) -> bool:
        """Returns whether `size` is in the range."""
        return self.min <= size and (self.max is None or size <= self.max)
