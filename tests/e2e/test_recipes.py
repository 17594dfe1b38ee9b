"""Known limits of recipes still hold: one that does not is to be taken out of the file."""

import pytest

import unmess
from importers.recipes.limits import known_limits

# Stages that are reached quickly. The sweeps check all of them.
_EARLY = ("capture", "import", "torch", "linalg")


def sample(count: int) -> list[str]:
    """Models with a limit at an early stage, spread over the list."""
    models = [
        model
        for model, limits in known_limits().items()
        if model.startswith("hf:") and limits[0].stage in _EARLY
    ]
    return models[:: max(len(models) // count, 1)][:count]


@pytest.mark.parametrize("model", sample(4))
def test_a_known_limit_holds(model):
    (limit, *_) = known_limits()[model]
    with pytest.raises(unmess.Error) as raised:
        unmess.lower(unmess.capture(model), to="linalg")
    assert raised.value.stage == limit.stage
    assert raised.value.cause == limit.cause
