"""Tests that random programs on the reference runner give the same results as in eager.

docs/testing.md describes how to run more of them, and what a failure prints.
"""

import os
import warnings

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from unmess.conformance.programs.check import Checked
from unmess.conformance.programs.families import FAMILIES, programs

# The number of random programs for each family, half of them compiled as if they were large. If it
# is not set, the programs are always the same.
RANDOM = int(os.environ.get("UNMESS_PROGRAMS", "0"))
COUNT = (RANDOM or 252) // 2
_TOGETHER = 14


def nothing(test):
    return test


@pytest.fixture(scope="module", autouse=True)
def in_one_thread():
    """Limits eager to one thread. Drawing runs programs, and sums depend on the thread count."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("as_large", [False, True], ids=["as it is", "as if large"])
@pytest.mark.parametrize("family", FAMILIES)
def test_like_eager(family, as_large, monkeypatch):
    """With `as_large`, small operations are optimized, vectorized and split among two threads."""
    # Without the cache, which would return programs that were compiled with the other setting.
    monkeypatch.setenv("UNMESS_CACHE_MB", "0")
    checked = Checked(as_large)

    number = 2 * list(FAMILIES).index(family) + as_large

    @(nothing if RANDOM else seed(number))
    @settings(
        max_examples=2 * COUNT // _TOGETHER + 3,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.lists(programs(family), min_size=_TOGETHER, max_size=_TOGETHER))
    def run(batch):
        # Hypothesis starts with the simplest programs and repeats some, so count distinct ones.
        if checked.count < COUNT:
            checked.expect_none_wrong(batch)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run()
    assert checked.count >= COUNT
