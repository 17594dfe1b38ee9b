"""Replacements for methods of transformers models compute what the methods compute."""

from __future__ import annotations

import pytest
import torch

from importers.capture.transformers_patches import exportable
from importers.sources.huggingface import find

EXPERTS = {"dbrx": "DbrxExperts", "longcat_flash": "LongcatFlashExperts"}


@pytest.mark.parametrize("model_type", EXPERTS)
def test_experts_compute_what_the_loop_computes(model_type):
    model = find(model_type).model
    experts = next(m for m in model.modules() if type(m).__name__ == EXPERTS[model_type])
    count = getattr(experts, "total_experts", None) or experts.num_experts
    generator = torch.Generator().manual_seed(0)
    width = model.config.hidden_size
    tokens = torch.randn(1, 8, width, generator=generator)
    tokens = tokens if model_type == "dbrx" else tokens[0]
    # Each token chooses other experts, the first and the last among them.
    choices = [torch.randperm(count, generator=generator)[:2] for _ in range(6)]
    index = torch.stack([*choices, torch.tensor([count - 1, 0]), torch.tensor([0, count - 1])])
    weights = torch.rand(8, 2, generator=generator)
    with torch.no_grad():
        expected = experts(tokens, index, weights)
        with exportable(model):
            found = experts(tokens, index, weights)
        again = experts(tokens, index, weights)
    torch.testing.assert_close(found, expected)
    assert torch.equal(again, expected)
    assert expected.abs().max() > 0


def test_embedding_cache_is_untouched_by_a_capture():
    model = find("omdet-turbo").model
    cache = type(model).__init__.__globals__["OmDetTurboLRUCache"](4)
    ids, mask = torch.tensor([[3, 4]]), torch.tensor([[1, 1]])
    key = model._get_cache_key_at_index(ids, mask, 0)
    cache.put(key, torch.ones(2))
    before = list(cache.cache)
    with exportable(model):
        assert not cache.has(model._get_cache_key_at_index(ids, mask, 0))
        cache.put("other", torch.zeros(2))
    assert model._get_cache_key_at_index(ids, mask, 0) == key == (3, 4)
    assert list(cache.cache) == before


def test_a_cache_that_the_call_creates_counts_its_tokens():
    from transformers.cache_utils import DynamicCache, DynamicSlidingWindowLayer

    def tokens(call):
        layer = DynamicSlidingWindowLayer(4)
        with exportable(model, call=call):
            layer.update(torch.ones(1, 1, 6, 2), torch.ones(1, 1, 6, 2))
        return layer.cumulative_length, layer.keys.shape[-2]

    model = find("dbrx").model
    assert tokens(()) == (6, 3)
    # The replacement for caches that are arguments keeps all tokens, and does not count.
    assert tokens({"past_key_values": DynamicCache()}) == (0, 6)
