"""Draws the same random programs each time."""

from __future__ import annotations

import contextlib
import warnings

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings

from unmess.conformance.programs.families import FAMILIES, programs
from unmess.conformance.programs.program import Program


def drawn(count: int) -> dict[str, list[Program]]:
    """Returns `count` distinct programs of each family, short ones first."""
    # Drawing runs programs, and eager's sums depend on the number of threads.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return {family: _of_family(family, count) for family in FAMILIES}
    finally:
        torch.set_num_threads(threads)


class _Enough(Exception):
    """Raised to end the drawing. Without shrinking, hypothesis stops at the first exception."""


def _of_family(family: str, count: int) -> list[Program]:
    found: dict[Program, None] = {}

    @seed(list(FAMILIES).index(family))
    @settings(
        max_examples=4 * count,
        database=None,
        deadline=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(family))
    def collect(program: Program) -> None:
        found[program.pruned()] = None
        if len(found) >= count:
            raise _Enough

    with contextlib.suppress(_Enough):
        collect()
    return sorted(found, key=lambda program: len(program.lines))
