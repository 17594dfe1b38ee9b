"""The table of operators: calls of PyTorch operators that are compared with eager.

Each category has a file. `case.py` and `tensors.py` define the notation of cases.
"""

from __future__ import annotations

import itertools
from importlib import import_module

from unmess.conformance.operators.case import NAMED, Case

# In the order of the documentation.
_FILES = (
    "unary",
    "special",
    "binary",
    "comparison",
    "layers",
    "reductions",
    "search",
    "manipulation",
    "creation",
    "linear_algebra",
    "indexing",
    "casts",
    "control_flow",
    "random_numbers",
)

# The largest number of cases that are compiled together.
_TOGETHER = 48

CASES: tuple[Case, ...] = tuple(
    case for file in _FILES for case in import_module(f"unmess.conformance.operators.{file}").TABLE
)
NAMED.update((str(case), case) for case in CASES)


def groups() -> list[tuple[Case, ...]]:
    """Returns the groups of cases to compile together. A case that crashes the process is alone."""
    found = []
    for _category, cases in itertools.groupby(CASES, lambda case: case.category):
        cases = list(cases)
        alone = [case for case in cases if any(limit.stage == "crash" for limit in case.limits)]
        rest = [case for case in cases if case not in alone]
        found += [(case,) for case in alone]
        found += [tuple(rest[i : i + _TOGETHER]) for i in range(0, len(rest), _TOGETHER)]
    return found
