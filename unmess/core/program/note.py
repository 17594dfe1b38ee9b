"""Notes about differences between a program and the user's model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A difference from what the user passed in: a repair, a fallback, a conversion."""

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"
