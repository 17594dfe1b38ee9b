"""Known limits of recipes still hold: one that does not is to be taken out of the file."""

import pytest

import unmess
from importers.recipes.limits import known_limits

# One for each stage of lowering, that is reached in seconds. The sweeps check all of them.
MODELS = ("hf:idefics2", "hf:jetmoe")


@pytest.mark.parametrize("model", MODELS)
def test_a_known_limit_holds(model):
    (limit, *_) = known_limits()[model]
    with pytest.raises(unmess.Error) as raised:
        unmess.lower(unmess.capture(model), to="linalg")
    assert raised.value.stage == limit.stage
    assert raised.value.cause == limit.cause
