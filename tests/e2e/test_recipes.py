"""Tests that known limits of recipes still hold, and that models listed as not built still fail.

Remove an entry that no longer holds from its file.
"""

import pytest

import unmess
from importers.recipes.limits import NOT_BUILT, known_limits
from importers.sources import find_source
from unmess.triage.failure import normalized

# Models that fail within a minute. The sweeps check all models.
MODELS = ("hf:vit_mae",)


@pytest.mark.parametrize("model", MODELS)
def test_a_known_limit_holds(model):
    (limit, *_) = known_limits()[model]
    assert limit.stage == "compare"
    report = unmess.check(unmess.capture(model), on=limit.runner, calls=1)
    # The model draws random numbers.
    assert normalized(report.error) == normalized(limit.cause)


@pytest.mark.parametrize("model", known_limits(NOT_BUILT))
def test_a_model_that_is_not_built(model):
    """Covers all models that are not built, since each of them fails within a second."""
    (limit,) = known_limits(NOT_BUILT)[model]
    with pytest.raises(unmess.Error) as raised:
        find_source(model)
    assert (raised.value.stage, raised.value.cause) == (limit.stage, limit.cause)
    assert "\n" not in raised.value.cause
    assert raised.value.hint
