"""Tests that samples of PyTorch's own operator tests match eager, or fail as known.

`./pixiw run operator-samples` runs all of them.
"""

import functools

import pytest
from operator_samples import LIMITS_FILE, tested_samples

from importers.recipes.limits import known_limits
from unmess.conformance.operators.case import RUNNERS
from unmess.conformance.operators.outcomes import outcomes

LIMITS = known_limits(LIMITS_FILE)
SAMPLES = tested_samples()
# The number of samples that one test worker compiles together.
_TOGETHER = 30
PARAMETERS = [
    pytest.param(
        *(number, runner),
        id=f"{sample.operator}-{runner}",
        marks=pytest.mark.xdist_group(f"samples {number // _TOGETHER}"),
    )
    for number, sample in enumerate(SAMPLES)
    for runner in RUNNERS
]


@functools.cache
def outcomes_of_group(group):
    """Returns the outcomes of a group by sample."""
    samples = SAMPLES[group * _TOGETHER : (group + 1) * _TOGETHER]
    return dict(zip(samples, outcomes(samples), strict=True))


@pytest.mark.parametrize(("number", "runner"), PARAMETERS)
def test_as_in_eager(number, runner):
    sample = SAMPLES[number]
    failure = outcomes_of_group(number // _TOGETHER)[sample][runner]
    limits = [limit for limit in LIMITS.get(str(sample), ()) if limit.holds_for(runner)]
    if not limits:
        assert failure is None, str(failure)
    else:
        assert failure is not None, f"the limit no longer holds: {limits[0]}"
        assert failure.stage == limits[0].stage, str(failure)
