"""Random programs with computed indices, called with hostile ones: results and errors are eager's.

docs/testing.md says how to run more of them.
"""

import os

import pytest
from random_programs.hostile import index_programs
from random_programs.hostile_check import check_batch

# Programs; without it, always the same ones.
RANDOM = int(os.environ.get("UNMESS_PROGRAMS", "0"))
COUNT = RANDOM or 24
# Entry points of one module, since one compilation of many is faster than many of one.
_TOGETHER = 24
# Its programs raise in 28 of 72 calls.
_SEED = 2


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
    # A tenth each, or the test would show little.
    assert 10 * min(raised, returned) > raised + returned
