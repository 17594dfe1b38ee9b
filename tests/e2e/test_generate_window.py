"""Programs of a model with sliding windows compute the same as the model with its own cache."""

import pytest
import torch
import transformers

import unmess
from importers.sources.huggingface.tiny import find_tiny
from tests.shared.varied_weights import varied

LENGTH, WINDOW = 24, 8


@pytest.fixture(scope="module")
def model():
    # Every second layer of GPT-OSS has a window.
    return varied(find_tiny("gpt_oss").model)


@pytest.fixture(scope="module")
def programs(model):
    return unmess.capture_generation(model, max_length=LENGTH, cache="state")


@pytest.mark.parametrize("runner", ["reference", "iree-cpu"])
def test_steps_match_the_models_own_cache(runner, model, programs):
    run = unmess.load(programs, on=runner)
    keys = {tensor.shape[2] for name, tensor in run.state.items() if "keys" in name}
    assert keys == {WINDOW - 1, LENGTH}
    # Prompts and later parts that end before the window does, and behind it. Old states are left.
    for pieces in ((5, 1, 1, 1, 1, 1, 1), (13, 1, 1), (20, 4), (3, 9, 1, 7, 1)):
        run.state["cache_length"] = torch.tensor(0)
        own = transformers.DynamicCache(config=model.config)
        ids = torch.randint(64, 400, (1, sum(pieces)))
        with torch.no_grad():
            for piece in ids.split(pieces, dim=1):
                logits = (run.prefill if piece.shape[1] > 1 else run.decode)(piece)
                expected = model(input_ids=piece, past_key_values=own).logits[:, -1]
                torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
    run.state["cache_length"] = torch.tensor(LENGTH - 1)
    with pytest.raises(unmess.Error) as caught:
        run.prefill(ids[:, :2])
    assert caught.value.stage == "run"
