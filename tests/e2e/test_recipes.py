"""Tests that known limits of recipes still hold. Remove a limit that does not from the file."""

import pytest

import unmess
from importers.recipes.limits import known_limits

# Models that fail within a minute. The sweeps check all models.
MODELS = ("hf:longcat_flash", "hf:udop")


@pytest.mark.parametrize("model", MODELS)
def test_a_known_limit_holds(model):
    (limit, *_) = known_limits()[model]
    with pytest.raises(unmess.Error) as raised:
        unmess.lower(unmess.capture(model), to="linalg")
    assert raised.value.stage == limit.stage
    assert raised.value.cause == limit.cause
