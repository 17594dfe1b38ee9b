"""Tests which decoders and cache sizes are supported, and the errors of the others."""

import pytest
import torch
import transformers

import unmess
from importers.sources.huggingface.generation import generation_entries, with_cache
from importers.sources.huggingface.static_cache import FunctionalLayer
from importers.sources.huggingface.tiny import find_tiny
from importers.sources.source import Source
from tests.shared.varied_weights import varied

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


@pytest.mark.parametrize(
    "name, lists",
    [
        ("deepseek_v32", {"keys", "values", "indexer_keys"}),
        # A layer with a window and with states.
        ("inkling_text", {"keys", "values", "conv"}),
        # Its local layers do not accept a cache of fixed size.
        ("gpt_neo", {"tokens"}),
    ],
)
def test_steps_of_other_caches_match_a_call_without_cache(name, lists):
    model = varied(find_tiny(name).model)
    source = with_cache(Source(name, model), max_length=24)
    assert any("computes the whole text again" in note for note in source.notes) == (
        "tokens" in lists
    )
    ids = torch.randint(64, 400, (1, 12))
    entries = source.entries
    first = entries.get("prefill", entries["decode"])
    cache = first.args[1]
    assert set(cache) - {"length", "padding"} == lists
    pieces = (9, 1, 1, 1) if "prefill" in entries else (1,) * 12
    with torch.no_grad():
        for piece in ids.split(pieces, dim=1):
            logits, cache = first.model(piece, cache)
        expected = model(input_ids=ids, use_cache=False).logits[:, -1]
    torch.testing.assert_close(logits, expected, atol=1e-3, rtol=1e-3)


# Moshi's mask has no window. Its own cache forgets old keys. In GPT-OSS, only some layers have one.
@pytest.mark.parametrize(
    "name, positions", [("mistral", {7}), ("moshi", {7}), ("gpt_oss", {7, 24})]
)
def test_steps_after_the_window_match_the_models_own_cache(name, positions):
    model = varied(find_tiny(name).model)
    entries = generation_entries(model, max_length=24)
    step, cache = entries["prefill"].model, entries["prefill"].args[1]
    own = transformers.DynamicCache(config=model.config)
    assert {getattr(layer, "sliding_window", None) for layer in own.layers} - {None} == {8}
    assert {keys.shape[2] for keys in cache["keys"] + cache["values"]} == positions
    ids = torch.randint(64, 400, (1, 24))
    with torch.no_grad():
        for piece in ids.split((6, 1, 1, 1, 1, 5, 1, 8), dim=1):
            logits, cache = step(piece, cache)
            expected = model(input_ids=piece, past_key_values=own).logits[:, -1]
            torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_padding_in_the_window():
    """Rows with padding at the start compute the same as each text by itself."""
    model = varied(find_tiny("gpt_oss").model)
    ids = torch.randint(64, 400, (2, 14))
    counts = (14, 9)
    entries = generation_entries(model, batch=2, max_length=24)
    step, cache = entries["prefill"].model, entries["prefill"].args[1]
    cache["padding"] = torch.tensor([ids.shape[1] - count for count in counts])
    with torch.no_grad():
        for end in range(6, ids.shape[1] + 1):
            piece = ids[:, :6] if end == 6 else ids[:, end - 1 : end]
            logits, cache = step(piece, cache)
        for row, count in enumerate(counts):
            expected = model(ids[row : row + 1, -count:], use_cache=False).logits[:, -1]
            torch.testing.assert_close(logits[row : row + 1], expected, atol=1e-4, rtol=1e-4)


def test_model_whose_mask_does_not_fit_a_window_stores_all_positions(monkeypatch):
    """A mask that takes the states of a window for those of the first positions."""
    model = varied(find_tiny("mistral").model)
    monkeypatch.setattr(
        FunctionalLayer,
        "get_mask_sizes",
        lambda layer, count: (layer.max_cache_len + count * layer.is_sliding, 0),
    )
    entries = generation_entries(model, max_length=24)
    assert {keys.shape[2] for keys in entries["prefill"].args[1]["keys"]} == {24}
    (note,) = entries["decode"].notes
    assert note == (
        "layers with a sliding window store all positions: MistralForCausalLM computes other "
        "logits with a cache of a window than with all positions"
    )


@pytest.mark.parametrize("name", ["switch_transformers", "moonshine", "fsmt"])
def test_steps_of_encoder_decoders_match_a_call_without_cache(name):
    class_name = {"moonshine": "MoonshineForConditionalGeneration"}.get(name)
    model = varied(find_tiny(name, class_name).model)
    if name == "switch_transformers":
        # In f32, its rounding errors exceed the bound.
        model = model.double()
    entries = generation_entries(model, max_length=16)
    inputs = entries["encode"].args
    ids = torch.randint(64, 400, (1, 5))
    mask = dict(zip(("attention_mask",), inputs[1:], strict=False))
    with torch.no_grad():
        _, cache = entries["encode"].model(*inputs)
        for step in ids.split(1, dim=1):
            logits, cache = entries["decode"].model(step, cache)
        call = {model.main_input_name: inputs[0], "decoder_input_ids": ids, **mask}
        expected = model(**call).logits[:, -1]
    torch.testing.assert_close(logits, expected, atol=1e-3, rtol=1e-3)


def test_state_in_attributes_is_not_a_cache():
    """RecurrentGemma keeps its states in the layers, and the next text would begin with them."""
    config = transformers.RecurrentGemmaConfig(
        vocab_size=64, hidden_size=40, num_hidden_layers=3, intermediate_size=40
    )
    model = transformers.RecurrentGemmaForCausalLM(config).eval()
    decode = generation_entries(model, max_length=16)["decode"]
    assert "keeps state outside of its cache: model.layers.0." in decode.notes[0]
    assert "tokens" in decode.args[1]


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


def not_causal():
    config = transformers.XLMConfig(vocab_size=64, emb_dim=32, n_layers=2, n_heads=2)
    return varied(transformers.XLMWithLMHeadModel(config))


@pytest.mark.parametrize(
    "model, cause",
    [
        (no_head, "LlamaModel does not generate text"),
        (encoder, "BertForMaskedLM does not generate text"),
        (not_causal, "layer 0 of XLMWithLMHeadModel caches something other than keys"),
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
