"""Finds the known limit that a failure matches.

This module does not import PyTorch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from importers.recipes.limits import FILE, Limit, known_limits
from unmess.triage.failure import Failure, normalized

_OPERATORS = Path(__file__).parents[1] / "conformance" / "operators" / "limits.yaml"


@dataclass(frozen=True)
class Match:
    """A known limit with the same stage and cause.

    Attributes:
        of: the model string, or the call of an operator, that has the limit.
    """

    of: str
    limit: Limit

    def __str__(self) -> str:
        link = f" ({self.limit.link})" if self.limit.link else ""
        return f"{self.of} fails in the same way{link}"


def matching_limit(failure: Failure, runner: str, model: str) -> Match | None:
    """Returns the known limit that a failure matches.

    The model's own limit comes first, then one with an upstream issue, then those of operators.
    """
    if not failure.message:
        return None
    matches = [
        Match(name, limit)
        for file in (_OPERATORS, FILE)
        for name, limits in known_limits(file).items()
        for limit in limits
        if limit.stage == failure.stage
        and limit.holds_for(runner)
        and normalized(limit.cause) == failure.message
    ]
    return min(matches, key=lambda m: (m.of != model, m.limit.link is None), default=None)
