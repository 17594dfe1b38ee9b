"""Tests that known limits of recipes still hold. Remove a limit that does not from the file."""

import pytest

import unmess
from importers.recipes.limits import known_limits

# One model for each stage of lowering. They fail within seconds. The sweeps check all models.
MODELS = ("hf:idefics2", "hf:jetmoe")


@pytest.mark.parametrize("model", MODELS)
def test_a_known_limit_holds(model):
    (limit, *_) = known_limits()[model]
    with pytest.raises(unmess.Error) as raised:
        unmess.lower(unmess.capture(model), to="linalg")
    assert raised.value.stage == limit.stage
    assert raised.value.cause == limit.cause
