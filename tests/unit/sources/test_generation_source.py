"""Tests which decoders and cache sizes are supported, and the errors of the others."""

import pytest
import torch
import transformers

import unmess
from importers.sources.huggingface.generation import generation_entries

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def llama(**sizes):
    sizes = {**SMALL, **sizes}
    config = transformers.LlamaConfig(
        vocab_size=64, intermediate_size=32, max_position_embeddings=32, **sizes
    )
    return transformers.LlamaForCausalLM(config).eval()


def test_sizes_of_the_cache():
    entries = generation_entries(llama(num_key_value_heads=1).bfloat16(), batch=3)
    ids, cache = entries["decode"].args
    assert ids.shape == (3, 1)
    assert [tensor.shape for tensor in cache["keys"]] == [(3, 1, 32, 16)] * 2
    assert cache["values"][1].dtype == torch.bfloat16
    assert int(cache["length"]) == entries["prefill"].args[0].shape[1]
    assert int(entries["prefill"].args[1]["length"]) == 0


def test_sizes_of_an_encoder_decoders_cache():
    config = transformers.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=32, num_layers=1)
    model = transformers.T5ForConditionalGeneration(config).eval()
    entries = generation_entries(model, batch=3, max_length=16)
    ids, cache = entries["decode"].args
    assert (ids.shape, cache["source_mask"].shape) == ((3, 1), (3, 16))
    assert cache["keys"][0].shape == cache["cross_values"][0].shape == (3, 8, 16, 8)
    with_state = generation_entries(model, max_length=16, state=True)
    encode, decode = (with_state[entry].model for entry in ("encode", "decode"))
    assert encode.cache_cross_keys_0 is decode.cache_cross_keys_0


def test_a_layer_with_a_window_keeps_all_positions():
    config = transformers.MistralConfig(
        vocab_size=64, intermediate_size=32, sliding_window=4, num_key_value_heads=1, **SMALL
    )
    model = transformers.MistralForCausalLM(config).eval()
    entries = generation_entries(model, max_length=16)
    step, (ids, cache) = entries["decode"].model, entries["decode"].args
    prompt = entries["prefill"].args[0]
    with torch.no_grad():
        ours, _ = step(ids, cache)
        theirs = model(torch.cat([prompt, ids], 1)).logits[:, -1]
    torch.testing.assert_close(ours, theirs)


def test_model_is_not_changed():
    model = llama()
    generation_entries(model)
    assert "forward" not in vars(model)
    assert model(torch.ones(1, 3, dtype=torch.int64)).logits.shape == (1, 3, 64)


@pytest.mark.parametrize(
    "batch, max_length, cause",
    [(0, 16, "batch is 0"), (1, 8, "max_length is 8"), (1, 33, "max_length is 33")],
)
def test_sizes_out_of_range_are_usage_errors(batch, max_length, cause):
    with pytest.raises(unmess.Error, match=cause) as caught:
        unmess.capture_generation(llama(), batch, max_length)
    assert caught.value.stage == "usage"


def test_both_entry_points_use_the_given_strategy():
    model = llama(num_hidden_layers=1)
    programs = unmess.capture_generation(model, max_length=16, strategy="strict")
    assert [one.strategy for one in programs.entries.values()] == ["strict", "strict"]
    with pytest.raises(unmess.Error, match="unknown capture strategy") as caught:
        unmess.capture_generation(llama(), strategy="strictly")
    assert caught.value.stage == "usage"


def no_head():
    return llama().model


def encoder():
    config = transformers.BertConfig(vocab_size=64, intermediate_size=32, **SMALL)
    return transformers.BertForMaskedLM(config).eval()


def with_other_states():
    config = transformers.RwkvConfig(
        vocab_size=64, hidden_size=32, attention_hidden_size=32, num_hidden_layers=2
    )
    return transformers.RwkvForCausalLM(config).eval()


@pytest.mark.parametrize(
    "model, cause",
    [
        (no_head, "LlamaModel does not generate text"),
        (encoder, "BertForMaskedLM does not generate text"),
        (with_other_states, "layer 0 of RwkvForCausalLM caches something other than keys"),
        (lambda: torch.nn.Linear(2, 2), "a Linear is not a model of transformers"),
    ],
)
def test_models_without_a_cache_of_keys_and_values(model, cause):
    with pytest.raises(unmess.Error, match=cause) as caught:
        generation_entries(model())
    assert caught.value.stage == "source" and "\n" not in caught.value.cause


def test_invalid_model_strings():
    with pytest.raises(unmess.Error, match="unknown form #speak"):
        unmess.capture("hf:llama#speak")
    with pytest.raises(unmess.Error, match="each with its own example arguments"):
        unmess.capture("hf:llama#generate", (torch.ones(1),))
