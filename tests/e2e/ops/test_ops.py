"""Every case of the table of operators on both runners, as in eager, or stopped as is known."""

import functools
from collections import Counter

import pytest
from operator_cases import CASES, groups
from operator_cases.case import LIMITS, RUNNERS
from operator_cases.outcomes import outcomes

GROUPS = groups()
# The cases of a group are tested by one worker, which finds out about all of them at once.
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
    """By case."""
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
        # Which numbers are wrong, and how much, depends on the processor.
        assert limit.stage == "compare" or limit.cause in failure.cause, str(failure)


def test_limits_are_of_cases_and_no_case_is_there_twice():
    names = Counter(map(str, CASES))
    assert max(names.values()) == 1, names.most_common(3)
    assert LIMITS.keys() <= names.keys()
