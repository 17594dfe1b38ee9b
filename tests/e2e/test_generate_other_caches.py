"""Models that do not run with a cache of fixed size generate the same tokens as transformers."""

import pytest
import torch

import unmess
from importers.sources.huggingface.tiny import find_tiny
from tests.shared.varied_weights import varied


@pytest.mark.parametrize(
    "name, note, state",
    [
        ("gpt_neo", "every step computes the whole text again", "cache_tokens"),
        ("fsmt", "every step computes the whole text again", "cache_states"),
        ("mpt", "a prompt is read token by token", "cache_keys_1"),
    ],
)
def test_tokens_are_those_of_transformers(name, note, state):
    model = varied(find_tiny(name).model)
    generator = unmess.load_generator(model, on="reference", max_length=24)
    assert any(note in each.text for each in generator.notes)
    assert state in generator.run.state
    # Every text begins with an empty cache.
    for length in (9, 1, 5):
        ids = torch.randint(64, 400, (1, length))
        theirs = model.generate(ids, do_sample=False, num_beams=1, use_cache=True, max_new_tokens=8)
        ours = list(generator.tokens(ids, 8))
        assert ours == theirs[0, -len(ours) :].tolist()
        assert len(ours) == 8 or ours[-1] in generator.end
