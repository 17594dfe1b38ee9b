"""Tests that random programs with hostile indices return and raise as in eager.

docs/testing.md describes how to run more of them.
"""

import os

import pytest

from unmess.conformance.programs.batches import check_batch
from unmess.conformance.programs.hostile import index_programs

# The number of random programs. If it is not set, the programs are always the same.
RANDOM = int(os.environ.get("UNMESS_PROGRAMS", "0"))
COUNT = RANDOM or 24
# Number of entry points in a module, because one compilation is faster than many.
_TOGETHER = 24
# With this seed, the programs raise in 12 of 72 calls, and 10 programs have any number of indices.
_SEED = 3


@pytest.mark.parametrize("runner", ["reference", "iree-cpu", "bundle"])
def test_like_eager(runner):
    seed = int.from_bytes(os.urandom(4), "big") if RANDOM else _SEED
    programs = index_programs(seed, COUNT)
    raised = returned = 0
    for at in range(0, COUNT, _TOGETHER):
        found = check_batch(programs[at : at + _TOGETHER], runner)
        assert not found.wrong, f"seed {seed}\n" + "\n".join(found.wrong)
        raised, returned = raised + found.raised, returned + found.returned
    print(f"{runner}: {COUNT} programs, {returned} calls that return, {raised} that raise")
    # At least a twentieth of the calls must return, and a twentieth must raise.
    assert 20 * min(raised, returned) > raised + returned
