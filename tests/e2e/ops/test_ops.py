"""Tests that each case of the operator table matches eager on both runners, or fails as known."""

import functools
from collections import Counter

import pytest

from unmess.conformance.operators import CASES, groups
from unmess.conformance.operators.case import LIMITS, RUNNERS
from unmess.conformance.operators.outcomes import outcomes

GROUPS = groups()
# One test worker tests all cases of a group, since it computes their outcomes together.
PARAMETERS = [
    pytest.param(
        *(number, case, runner),
        id=f"{case}-{runner}",
        marks=pytest.mark.xdist_group(f"operators {number}"),
    )
    for number, group in enumerate(GROUPS)
    for case in group
    for runner in RUNNERS
]


@functools.cache
def outcomes_of_group(number):
    """Returns the outcomes of a group by case."""
    return dict(zip(GROUPS[number], outcomes(GROUPS[number]), strict=True))


@pytest.mark.parametrize(("group", "case", "runner"), PARAMETERS)
def test_as_in_eager(group, case, runner):
    failure = outcomes_of_group(group)[case][runner]
    limit = case.limit_on(runner)
    if limit is None:
        assert failure is None, str(failure)
    else:
        assert failure is not None, f"the limit no longer holds: {limit}"
        assert failure.stage == limit.stage, str(failure)
        # Which numbers are wrong, and by how much, depends on the CPU.
        assert limit.stage == "compare" or limit.cause in failure.cause, str(failure)


def test_case_names_are_unique_and_limits_name_cases():
    names = Counter(map(str, CASES))
    assert max(names.values()) == 1, names.most_common(3)
    assert LIMITS.keys() <= names.keys()
