"""Tests that random programs with loops give the same results as in eager.

docs/testing.md describes how to run more of them.
"""

import os

import pytest

from unmess.conformance.programs.batches import check_batch
from unmess.conformance.programs.loops import loop_programs

# The number of random programs. If it is not set, the programs are always the same.
RANDOM = int(os.environ.get("UNMESS_PROGRAMS", "0"))
COUNT = RANDOM or 24
# Number of entry points in a module, because one compilation is faster than many.
_TOGETHER = 12


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_like_eager(runner):
    seed = int.from_bytes(os.urandom(4), "big") if RANDOM else 0
    programs = loop_programs(seed, COUNT)
    for at in range(0, COUNT, _TOGETHER):
        found = check_batch(programs[at : at + _TOGETHER], runner)
        assert not found.wrong, f"seed {seed}\n" + "\n".join(found.wrong)
        assert not found.raised, f"seed {seed}: eager raises"
